// Curves that can be looked at closely. Each figure of the page has its numbers in a block of JSON; this draws them as
// SVG in place of the still picture: values under the pointer, axes logarithmic or linear, methods that can be hidden.
(function () {
"use strict";
const NS = "http://www.w3.org/2000/svg";
const W = 370, H = 255, LEFT = 62, RIGHT = 18, TOP = 8, BOTTOM = 46;
const DASHES = { dashed: "5 4" };

function make(name, attributes, parent) {
  const e = document.createElementNS(NS, name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  if (parent) parent.appendChild(e);
  return e;
}

function element(name, className, parent) {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (parent) parent.appendChild(e);
  return e;
}

// "10^{-3}" and "z_{1}" as plain runs and raised or lowered ones: [text, -1 | 0 | 1].
function runs(text) {
  const out = [];
  const plain = String(text === null || text === undefined ? "" : text);
  const pattern = /([\^_])(?:\{([^}]*)\}|([^\s{}]))/g;
  let at = 0, m;
  while ((m = pattern.exec(plain))) {
    if (m.index > at) out.push([plain.slice(at, m.index), 0]);
    out.push([m[2] === undefined ? m[3] : m[2], m[1] === "^" ? 1 : -1]);
    at = pattern.lastIndex;
  }
  if (at < plain.length) out.push([plain.slice(at), 0]);
  return out;
}

// Text with its raised parts, into SVG or HTML; nothing of it is ever read as markup.
function write(parent, text) {
  const svg = parent.namespaceURI === NS;
  let level = 0;
  for (const [part, side] of runs(text)) {
    const e = svg ? make("tspan", {}, parent) : side ? element(side > 0 ? "sup" : "sub", "", parent) : element("span", "", parent);
    e.textContent = part;
    if (svg && side !== level) e.setAttribute("dy", (level - side) * 4);
    if (svg && side) e.setAttribute("font-size", "80%");
    level = side;
  }
}

function number(x) {
  if (x === null || x === undefined || !isFinite(x)) return "none";
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    const [digits, power] = x.toExponential(2).split("e");
    return digits.replace(/\.?0+$/, "") + "·10^{" + Number(power) + "}";
  }
  return String(Number(x.toPrecision(4)));
}

// Black in the picture is the page's ink, which is pale on dark.
function colour(s) {
  const c = /^#[0-9a-f]{6}$/i.test(s.colour) ? s.colour : "#444444";
  const parts = [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16));
  return Math.max(...parts) < 90 ? "var(--ink)" : c;
}

const isMap = (s) => s.mark === "map";
const isBars = (s) => s.mark === "bars";
const values = (a) => (Array.isArray(a) ? a : []);

// What an axis spans: as the picture has it, or the data where its kind was changed.
function span(panel, hidden, axis, log) {
  const stated = panel[axis] || {};
  let low = Infinity, high = -Infinity;
  for (const s of panel.series) {
    if (hidden.has(s.label) || (axis === "y" && s.mark === "vertical")) continue;
    const lists = axis === "x" ? [s.x] : [s.y, s.y2];
    for (const list of lists)
      for (const v of values(list)) if (typeof v === "number" && (!log || v > 0)) { low = Math.min(low, v); high = Math.max(high, v); }
    if (axis === "y" && isBars(s) && !log) low = Math.min(low, 0);
  }
  const given = (v) => typeof v === "number" && isFinite(v) && (!log || v > 0);
  const same = !!stated.log === log && !(stated.low === 0 && stated.high === 0);
  if (same && given(stated.low)) low = stated.low;
  if (same && given(stated.high)) high = stated.high;
  const map = panel.series.find(isMap);
  if (map) {
    const all = [...new Set(axis === "x" ? map.x : map.y)].sort((a, b) => a - b), n = all.length;
    if (n > 1 && (!log || all[0] > 0)) [low, high] = log ? [all[0] / Math.sqrt(all[1] / all[0]), all[n - 1] * Math.sqrt(all[n - 1] / all[n - 2])] : [all[0] - (all[1] - all[0]) / 2, all[n - 1] + (all[n - 1] - all[n - 2]) / 2];
  }
  if (!(low <= high)) [low, high] = log ? [1, 10] : [0, 1];
  if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
  return [low, high];
}

function scale(range, log, from, to) {
  const f = log ? Math.log10 : (v) => v;
  const a = f(range[0]), b = f(range[1]);
  const at = (v) => from + ((f(v) - a) / (b - a)) * (to - from);
  return { at, range, log };
}

function ticks(range, log) {
  const out = [];
  if (log) {
    const a = Math.ceil(Math.log10(range[0]) - 1e-9), b = Math.floor(Math.log10(range[1]) + 1e-9);
    if (b - a >= 1) {
      const every = Math.ceil((b - a + 1) / 6);
      for (let k = a; k <= b; k++) if ((k - a) % every === 0) out.push(Math.pow(10, k));
      return out;
    }
    if (range[1] / range[0] > 2.5) {
      for (let k = a - 1; k <= b + 1; k++)
        for (const m of [1, 2, 5]) { const v = m * Math.pow(10, k); if (v >= range[0] && v <= range[1]) out.push(v); }
      return out;
    }
  }
  const rough = (range[1] - range[0]) / 5, power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  for (let v = Math.ceil(range[0] / step) * step; v <= range[1] + 1e-9 * step; v += step)
    out.push(Math.abs(v) < 1e-9 * step ? 0 : Number(v.toPrecision(12)));
  return out;
}

function tickText(v, log) {
  const power = Math.log10(v);
  return log && Math.abs(power - Math.round(power)) < 1e-9 && Math.abs(power) > 2 ? "10^{" + Math.round(power) + "}" : number(v);
}

function drawAxes(svg, panel, x, y, bars) {
  const axis = make("g", {}, svg);
  for (const v of ticks(y.range, y.log)) {
    const at = y.at(v);
    make("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: at, y2: at }, axis);
    write(make("text", { class: "tick", x: LEFT - 6, y: at + 4, "text-anchor": "end" }, axis), tickText(v, y.log));
  }
  for (const v of bars ? [] : ticks(x.range, x.log)) {
    const at = x.at(v);
    make("line", { class: "grid", x1: at, x2: at, y1: TOP, y2: H - BOTTOM }, axis);
    write(make("text", { class: "tick", x: at, y: H - BOTTOM + 15, "text-anchor": "middle" }, axis), tickText(v, x.log));
  }
  make("path", { class: "axis", d: `M${LEFT} ${TOP}V${H - BOTTOM}H${W - RIGHT}` }, axis);
  const middle = (TOP + H - BOTTOM) / 2;
  write(make("text", { x: (LEFT + W - RIGHT) / 2, y: H - 10, "text-anchor": "middle" }, axis), panel.x && panel.x.label);
  write(make("text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, axis), panel.y && panel.y.label);
}

// A line with a gap at what is null, or not on the axis.
function path(s, ys, x, y, backwards) {
  let d = "", pen = false;
  const n = values(s.x).length;
  for (let k = 0; k < n; k++) {
    const i = backwards ? n - 1 - k : k, a = s.x[i], b = values(ys)[i];
    const shown = typeof a === "number" && typeof b === "number" && (!x.log || a > 0) && (!y.log || b > 0);
    if (shown) d += (pen ? "L" : "M") + x.at(a).toFixed(1) + " " + y.at(b).toFixed(1);
    pen = shown;
  }
  return d;
}

function drawBand(g, s, x, y) {
  // below a logarithmic axis a band runs along its end
  const lower = values(s.y).map((v) => (typeof v === "number" && y.log ? Math.max(v, y.range[0]) : v));
  const there = path({ x: s.x }, s.y2, x, y), back = path({ x: s.x }, lower, x, y, true);
  if (there && back) make("path", { d: there + "L" + back.slice(1).replace(/M/g, "L") + "Z", fill: colour(s), "fill-opacity": 0.18, stroke: "none" }, g);
}

function drawPoints(g, s, x, y, radius) {
  values(s.x).forEach((a, i) => {
    const b = s.y[i];
    if (typeof a === "number" && typeof b === "number" && (!x.log || a > 0) && (!y.log || b > 0))
      make("circle", { cx: x.at(a).toFixed(1), cy: y.at(b).toFixed(1), r: radius, fill: colour(s), "fill-opacity": radius < 2 ? 0.5 : 1 }, g);
  });
}

// Colours from low to high, as in the picture.
const PALETTE = ["#440154", "#472C7A", "#3B518B", "#2C718E", "#21908D", "#27AD81", "#5CC863", "#AADC32", "#FDE725"];

// Where a value of a map lies on its scale, from 0 to 1; NaN for what is no number.
function mapScale(panel, s) {
  const stated = panel.z || {}, finite = values(s.z).filter((v) => typeof v === "number" && (!stated.log || v > 0));
  const f = stated.log ? Math.log10 : (v) => v;
  const given = (v) => typeof v === "number" && (!stated.log || v > 0) && !(stated.low === 0 && stated.high === 0);
  const low = given(stated.low) ? stated.low : Math.min(...finite), high = given(stated.high) ? stated.high : Math.max(...finite);
  const at = (v) => (typeof v !== "number" ? NaN : stated.log && v <= low ? 0 : Math.min(1, Math.max(0, (f(v) - f(low)) / (f(high) - f(low) || 1))));
  return { at, low, high, fill: (v) => { const t = at(v); return isNaN(t) ? "#BDBDBD" : PALETTE[Math.min(PALETTE.length - 1, Math.floor(t * PALETTE.length))]; } };
}

function drawMap(g, panel, s, x, y) {
  const side = (list, axis) => {
    const all = [...new Set(list)].sort((a, b) => a - b), at = all.map(axis.at);
    const edge = (i) => (at.length < 2 ? at[0] + (i ? 10 : -10) : i === 0 ? 1.5 * at[0] - at[1] / 2 : i === at.length ? 1.5 * at[i - 1] - at[i - 2] / 2 : (at[i - 1] + at[i]) / 2);
    return new Map(all.map((v, i) => [v, [Math.min(edge(i), edge(i + 1)), Math.abs(edge(i + 1) - edge(i))]]));
  };
  const columns = side(s.x, x), rows = side(s.y, y), scale = mapScale(panel, s);
  s.x.forEach((a, i) => {
    const [cx, w] = columns.get(a), [cy, h] = rows.get(s.y[i]);
    make("rect", { x: cx, y: cy, width: w + 0.4, height: h + 0.4, fill: scale.fill(s.z[i]) }, g);
  });
}

// The colours of a map with the ends of its scale, below the panel.
function addMapKey(host, panel) {
  const s = panel.series.find(isMap);
  if (!s) return;
  const scale = mapScale(panel, s), row = element("div", "scales", host);
  write(element("span", "", row), ((panel.z && panel.z.label) || "") + "  " + number(scale.low));
  const key = make("svg", { width: 9 * PALETTE.length, height: 12 }, row);
  PALETTE.forEach((c, i) => make("rect", { x: 9 * i, y: 0, width: 9.5, height: 12, fill: c }, key));
  write(element("span", "", row), number(scale.high));
}

// Bars by name; a series with two ends is the spread of the bars that it lies on.
function drawBars(g, svg, panel, shown, y) {
  const names = [...new Set(shown.filter(isBars).flatMap((s) => values(s.x)))];
  const width = (W - RIGHT - LEFT) / Math.max(names.length, 1), floor = y.at(y.log ? y.range[0] : Math.max(0, y.range[0]));
  for (const s of shown.filter(isBars)) s.x.forEach((name, i) => {
    const v = s.y[i], second = values(s.y2)[i], middle = LEFT + width * (names.indexOf(name) + 0.5);
    if (typeof v !== "number") return;
    if (typeof second === "number") make("line", { x1: middle, x2: middle, y1: y.at(v), y2: y.at(second), stroke: "var(--ink)", "stroke-width": 1.6 }, g);
    else if (!s.y2) make("rect", { x: middle - 0.3 * width, y: Math.min(y.at(v), floor), width: 0.6 * width, height: Math.abs(floor - y.at(v)), fill: colour(s), "data-name": name }, g);
  });
  const angle = names.some((name) => String(name).length * 6 > width) ? -28 : 0;
  names.forEach((name, i) => {
    const at = LEFT + width * (i + 0.5), to = H - BOTTOM + 13;
    write(make("text", { class: "tick", x: at, y: to, "text-anchor": angle ? "end" : "middle", transform: `rotate(${angle} ${at} ${to})` }, svg), name);
  });
}

function drawSeries(g, panel, s, x, y) {
  if (s.mark === "map") return drawMap(g, panel, s, x, y);
  if (s.mark === "band") return drawBand(g, s, x, y);
  if (s.mark === "points") return drawPoints(g, s, x, y, 3);
  if (s.mark === "cloud") return drawPoints(g, s, x, y, 1.2);
  if (s.mark === "vertical") {
    for (const v of values(s.x)) if (typeof v === "number" && (!x.log || v > 0))
      make("line", { x1: x.at(v), x2: x.at(v), y1: TOP, y2: H - BOTTOM, stroke: colour(s), "stroke-dasharray": "3 3" }, g);
    return undefined;
  }
  const thin = s.mark === "thin" || s.mark === "dashed";
  make("path", { d: path(s, s.y, x, y), fill: "none", stroke: colour(s), "stroke-width": thin ? 1.1 : 1.9, "stroke-linejoin": "round", "stroke-dasharray": DASHES[s.mark] || "" }, g);
  if (s.mark === "path") drawPoints(g, { ...s, x: s.x.slice(0, 1), y: s.y.slice(0, 1) }, x, y, 3.5);
  else if (values(s.x).length < 15) drawPoints(g, s, x, y, 2.4);
  return undefined;
}

// The point nearest to the pointer, of those that are drawn.
function nearest(shown, x, y, px, py) {
  let best = null;
  for (const s of shown) {
    if (isBars(s)) continue;
    values(s.x).forEach((a, i) => {
      const b = s.mark === "vertical" ? y.range[0] : values(s.y)[i];
      if (typeof a !== "number" || typeof b !== "number" || (x.log && !(a > 0)) || (y.log && !(b > 0))) return;
      const cy = s.mark === "vertical" ? py : y.at(b);
      const d = Math.hypot(x.at(a) - px, cy - py) + (s.mark === "band" ? 6 : 0);
      if (!best || d < best.d) best = { d, s, i, cx: x.at(a), cy, a, b };
    });
  }
  return best && best.d < 60 ? best : null;
}

function addHover(svg, host, tip, panel, shown, x, y) {
  const dot = make("circle", { r: 4, fill: "none", stroke: "var(--ink)", "stroke-width": 1.5, visibility: "hidden" }, svg);
  const leave = () => { tip.hidden = true; dot.setAttribute("visibility", "hidden"); };
  const show = (label, lines, cx, cy) => {
    tip.textContent = "";
    for (const line of [label, ...lines]) if (line) write(element("div", "", tip), line);
    tip.hidden = false;
    const box = svg.getBoundingClientRect(), k = box.width / W, left = cx * k;
    tip.style.left = tip.style.right = "auto";
    tip.style[left > box.width / 2 ? "right" : "left"] = (left > box.width / 2 ? box.width - left + 10 : left + 10) + "px";
    tip.style.top = box.top - host.getBoundingClientRect().top + Math.max(0, cy * k - 20) + "px";
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const name = event.target.getAttribute("data-name");
    const px = ((event.clientX - box.left) / box.width) * W, py = ((event.clientY - box.top) / box.height) * H;
    if (name) {
      const of = (both) => shown.filter((b) => isBars(b) && !!b.y2 === both && b.x.includes(name));
      const tell = (s, list) => number(values(list)[s.x.indexOf(name)]);
      return show(name, [...of(false).map((s) => tell(s, s.y)), ...of(true).map((s) => tell(s, s.y) + " to " + tell(s, s.y2))], px, py);
    }
    const at = nearest(shown, x, y, px, py);
    if (!at) return leave();
    dot.setAttribute("cx", at.cx); dot.setAttribute("cy", at.cy); dot.setAttribute("visibility", "visible");
    const xName = (panel.x && panel.x.label) || "x", yName = (panel.y && panel.y.label) || "y", second = values(at.s.y2)[at.i];
    const lines = [xName + ": " + number(at.a)];
    if (at.s.mark !== "vertical") lines.push(yName + ": " + number(at.b) + (typeof second === "number" ? " to " + number(second) : ""));
    if (isMap(at.s)) lines.push("value: " + number(at.s.z[at.i]));
    return show(at.s.label || "", lines, at.cx, at.cy);
  });
  svg.addEventListener("pointerleave", leave);
}

let count = 0;
function drawPanel(host, panel, hidden, kind) {
  const old = host.querySelector("svg.chart"), tip = host.querySelector(".value");
  const shown = panel.series.filter((s) => !hidden.has(s.label)), bars = shown.some(isBars);
  const svg = make("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": panel.title || "curves" });
  const x = scale(bars ? [0, 1] : span(panel, hidden, "x", kind.x), !bars && kind.x, LEFT, W - RIGHT);
  const y = scale(span(panel, hidden, "y", kind.y), kind.y, H - BOTTOM, TOP);
  const clip = "clip" + ++count;
  drawAxes(svg, panel, x, y, bars);
  make("rect", { x: LEFT, y: TOP - 4, width: W - LEFT - RIGHT + 4, height: H - TOP - BOTTOM + 4 }, make("clipPath", { id: clip }, svg));
  const g = make("g", { "clip-path": `url(#${clip})` }, svg);
  if (bars) drawBars(g, svg, panel, shown, y);
  for (const s of [...shown.filter((b) => b.mark === "map" || b.mark === "band"), ...shown.filter((b) => b.mark !== "map" && b.mark !== "band" && !isBars(b))]) drawSeries(g, panel, s, x, y);
  if (panel.point && typeof panel.point.x === "number") {
    make("path", { d: `M${x.at(panel.point.x) - 5} ${y.at(panel.point.y)}h10m-5 -5v10`, stroke: "var(--ink)", "stroke-width": 1.6 }, g);
    write(make("text", { x: x.at(panel.point.x) + 7, y: y.at(panel.point.y) - 6 }, g), panel.point.label);
  }
  addHover(svg, host, tip, panel, shown, x, y);
  if (old) old.replaceWith(svg); else host.insertBefore(svg, tip);
}

function addScales(host, panel, kind, redraw) {
  const row = element("div", "scales", host);
  for (const axis of panel.series.some(isBars) ? ["y"] : ["x", "y"]) {
    const b = element("button", "", row);
    const name = () => { b.textContent = axis + ": " + (kind[axis] ? "logarithmic" : "linear"); };
    b.type = "button";
    b.addEventListener("click", () => { kind[axis] = !kind[axis]; name(); redraw(); });
    name();
  }
}

// Which labels several panels share, and in which panel the others are.
function shareLabels(panels) {
  const of = new Map();
  for (const p of panels) for (const s of p.series) if (s.label) of.set(s.label, (of.get(s.label) || new Set()).add(p));
  const keys = (inside) => (p) => { const seen = new Map(); for (const s of p.series) if (s.label && of.get(s.label).size > 1 !== inside && !seen.has(s.label)) seen.set(s.label, s); return seen; };
  const shared = new Map();
  for (const p of panels) for (const [label, s] of keys(false)(p)) if (!shared.has(label)) shared.set(label, s);
  return { shared, own: keys(true) };
}

function addLegend(root, keys, hidden, redraw) {
  if (!keys.size) return;
  const row = element("div", "legend", root);
  for (const [label, s] of keys) {
    const b = element("button", "", row), key = make("svg", { width: 22, height: 10 }, b);
    b.type = "button";
    b.title = "hide or show";
    b.setAttribute("aria-pressed", "true");
    if (s.mark === "points" || s.mark === "cloud" || isBars(s) || isMap(s)) make("circle", { cx: 11, cy: 5, r: 4, fill: colour(s) }, key);
    else make("path", { d: "M0 5H22", stroke: colour(s), "stroke-width": 2.5, "stroke-dasharray": DASHES[s.mark] || "" }, key);
    write(b, label);
    b.addEventListener("click", () => {
      if (!hidden.delete(label)) hidden.add(label);
      b.setAttribute("aria-pressed", String(!hidden.has(label)));
      redraw();
    });
  }
}

function draw(figure, data) {
  const root = element("div", "curves"), hidden = new Set(), all = [];
  const columns = data.columns || data.panels.length;
  root.style.setProperty("--columns", columns <= 3 ? columns : columns % 3 ? 2 : 3);
  const labels = data.panels.length > 1 ? shareLabels(data.panels) : { shared: new Map(), own: (p) => new Map(p.series.filter((s) => s.label).map((s) => [s.label, s])) };
  addLegend(root, labels.shared, hidden, () => all.forEach((f) => f()));
  for (const panel of data.panels) {
    const host = element("div", "panel", root), kind = { x: !!(panel.x && panel.x.log), y: !!(panel.y && panel.y.log) };
    if (panel.title) write(element("h4", "", host), panel.title);
    element("div", "value", host).hidden = true;
    const redraw = () => drawPanel(host, panel, hidden, kind);
    all.push(redraw);
    redraw();
    addLegend(host, labels.own(panel), hidden, redraw);
    addMapKey(host, panel);
    addScales(host, panel, kind, redraw);
  }
  const still = figure.querySelector(".still");
  figure.insertBefore(root, figure.firstChild);
  if (still) still.hidden = true;
}

function start(figure) {
  const block = figure.querySelector('script[type="application/json"]');
  if (!block || figure.querySelector(".curves")) return;
  let data = null;
  try { data = JSON.parse(block.textContent); } catch (e) { return; }
  if (data && Array.isArray(data.panels) && data.panels.every((p) => p && Array.isArray(p.series))) draw(figure, data);
}

// A figure is drawn when it comes near the window, and all of them before the page is printed.
const figures = [...document.querySelectorAll("figure")];
const watch = new IntersectionObserver((seen) => {
  for (const s of seen) if (s.isIntersecting) { watch.unobserve(s.target); start(s.target); }
}, { rootMargin: "800px" });
figures.forEach((f) => watch.observe(f));
addEventListener("beforeprint", () => figures.forEach(start));
addEventListener("beforeprint", () => document.querySelectorAll("details.part").forEach((d) => { d.open = true; }));
})();
