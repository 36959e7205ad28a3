#!/usr/bin/env python3
"""page-check.py OUT SHOTS: opens OUT/index.html in a headless Chromium, at two widths, in light and dark.

Fails on errors of the script, on pictures that do not load, on anything wider than the page and on a figure with
numbers of which no curve is drawn. Presses every button once and again. Screenshots go to the folder SHOTS.
"""
import base64, json, os, pathlib, shutil, subprocess, sys, tempfile

SLICE = 1600  # pixels of a screenshot's height

# What the page says of itself, after everything on it was opened, drawn and touched.
LOOK = """(async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  dispatchEvent(new Event("beforeprint"));
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  await wait(300);
  for (const b of document.querySelectorAll(".curves button")) { b.click(); b.click(); }
  let told = 0;
  for (const svg of document.querySelectorAll("svg.chart")) {
    const box = svg.getBoundingClientRect();
    let shown = !!svg.querySelector("[data-name]");
    for (let k = 1; k < 8; k++) for (let m = 1; m < 8; m++) {
      svg.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width * k / 8, clientY: box.top + box.height * m / 8}));
      shown = shown || !svg.parentElement.querySelector(".value").hidden;
    }
    told += shown;
    svg.dispatchEvent(new PointerEvent("pointerleave"));
  }
  await wait(300);
  const wide = document.documentElement.clientWidth, bad = [];
  for (const e of document.querySelectorAll("body *"))
    if (e.getBoundingClientRect().right > wide + 1 && !e.closest("svg")) bad.push(e.tagName + "." + e.className + " " + e.textContent.slice(0, 40));
  document.querySelectorAll("td details").forEach((d) => { d.open = false; });
  const blocks = [...document.querySelectorAll('figure script')];
  const charts = document.querySelectorAll("svg.chart").length;
  const lines = [...document.querySelectorAll("svg.chart")].filter((s) => s.querySelector("g[clip-path] > *")).length;
  return {
    wide, scroll: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight, over: bad.slice(0, 5),
    missing: [...document.images].filter((i) => !i.complete || !i.naturalWidth).map((i) => i.src),
    pictures: document.images.length, blocks: blocks.length, charts, lines, told,
    undrawn: blocks.filter((b) => b.textContent !== "null" && !b.closest("figure").querySelector("svg.chart")).length,
    ids: [...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i),
    links: [...document.querySelectorAll('a[href^="#"]')].filter((a) => !document.getElementById(decodeURIComponent(a.hash.slice(1)))).map((a) => a.hash),
  };
})()"""


class Browser:
    """Chromium, spoken to through its debugging pipe."""

    def __init__(self, profile):
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not program:
            sys.exit("page-check: no Chromium; as root: apt-get install chromium")
        to_read, self.out = os.pipe()
        self.inn, to_write = os.pipe()

        def place():
            # the two ends become 3 and 4, wherever they were
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                 "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen([program, *flags], preexec_fn=place, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.next, self.events, self.session = b"", 0, [], None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def receive(self):
        while b"\0" not in self.rest:
            data = os.read(self.inn, 1 << 20)
            if not data:
                sys.exit("page-check: Chromium has ended")
            self.rest += data
        line, self.rest = self.rest.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **params):
        self.next += 1
        message = {"id": self.next, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.next:
                if "error" in answer:
                    sys.exit(f"page-check: {method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.receive())

    def errors(self):
        for e in self.events:
            p = e.get("params", {})
            if e.get("method") == "Runtime.exceptionThrown":
                d = p["exceptionDetails"]
                yield d.get("exception", {}).get("description", d["text"])
            if e.get("method") == "Log.entryAdded" and p["entry"]["level"] == "error":
                yield p["entry"]["text"] + " " + p["entry"].get("url", "")


def look(browser, page, width, scheme, shots):
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.events.clear()
    browser.call("Page.navigate", url=page.resolve().as_uri())
    browser.wait_for("Page.loadEventFired")
    name = f"{width}-{scheme}"
    first = browser.call("Page.captureScreenshot")  # as it opens
    (shots / f"{name}.png").write_bytes(base64.b64decode(first["data"]))
    answer = browser.call("Runtime.evaluate", expression=LOOK, awaitPromise=True, returnByValue=True)
    if "exceptionDetails" in answer:
        return [answer["exceptionDetails"].get("exception", {}).get("description", "the check failed")]
    seen = answer["result"]["value"]
    for k, top in enumerate(range(0, seen["height"], SLICE)):
        clip = {"x": 0, "y": top, "width": width, "height": min(SLICE, seen["height"] - top), "scale": 1}
        shot = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        (shots / f"{name}-{k}.png").write_bytes(base64.b64decode(shot["data"]))
    faults = ["script: " + e for e in browser.errors()]
    if seen["scroll"] > seen["wide"]:
        faults.append(f"{seen['scroll']} pixels wide on a page of {seen['wide']}")
    for word in ("over", "missing", "ids", "links"):
        faults += [f"{word}: {x}" for x in seen[word]]
    if seen["undrawn"] or seen["lines"] < seen["charts"] or seen["told"] < seen["charts"]:
        faults.append(f"of {seen['charts']} panels {seen['lines']} have curves, {seen['told']} tell values; "
                      f"{seen['undrawn']} figures are not drawn")
    print(f"{name}: {seen['pictures']} pictures, {seen['charts']} panels, {seen['height']} pixels high, "
          f"{len(faults)} faults")
    return faults


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: page-check.py OUT SHOTS")
    page, shots = pathlib.Path(sys.argv[1]) / "index.html", pathlib.Path(sys.argv[2])
    if not page.exists():
        sys.exit(f"page-check: there is no {page}")
    shots.mkdir(parents=True, exist_ok=True)
    faults = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            for width in (390, 1280):
                for scheme in ("light", "dark"):
                    faults += [f"{width} {scheme}: {f}" for f in look(browser, page, width, scheme, shots)]
        finally:
            browser.process.terminate()
            browser.process.wait()
    for f in faults:
        print(f, file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
