"""Event files read back by tensorboard: the numbers of the log as floats, also while the run goes on."""
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from tensorboard.backend.event_processing import event_accumulator

import hvi


def events(folder) -> dict:
    """Tag to {step: number}."""
    found = event_accumulator.EventAccumulator(str(folder), size_guidance={event_accumulator.SCALARS: 0})
    found.Reload()
    return {tag: {e.step: e.value for e in found.Scalars(tag)} for tag in found.Tags()["scalars"]}


def expected(log) -> dict:
    made = {}
    for line in log.read_text().splitlines():
        row = json.loads(line)
        for tag, x in row.items():
            if tag not in ("outer", "step", "status") and x is not None:
                made.setdefault(tag, {})[row.get("outer", row.get("step"))] = float(np.float32(x))
    return made


@pytest.mark.parametrize("words", [
    ("solve", "pennies", "--method", "gd", "--iters", 30),
    ("evaluate", "lqr", "--policy", "default", "--steps", 5, "--batch", 200, "--test-states", 10, "--out", "v"),
    ("policy", "train", "pendulum", "--steps", 1200, "--start", 400, "--out", "p.safetensors")], ids=["solve", "evaluate", "train"])
def test_logs(words, program, command, tmp_path):
    log = tmp_path / "run.jsonl"
    program(*words, "--log", log, "-q", cwd=tmp_path)
    done = command("tensorboard", log, tmp_path / "tb")
    assert done.returncode == 0, done.stderr
    assert events(tmp_path / "tb") == expected(log) != {}
    assert "0 steps more" in command("tensorboard", log, tmp_path / "tb").stderr  # nothing twice
    assert events(tmp_path / "tb") == expected(log) and len(list((tmp_path / "tb").iterdir())) == 1


def slow(program, log):
    """A solve that lasts until it is interrupted."""
    return subprocess.Popen([program.path, "solve", "rps", "--method", "gd", "--inner", "2000", "--iters", "100000000",
                             "--no-rounding", "--stall-window", "0", "--log", log, "-q"], stdout=subprocess.DEVNULL)


def wait_for(lines: int, log) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and (not log.exists() or log.read_bytes().count(b"\n") < lines):
        time.sleep(0.05)


def test_while_a_run_goes_on(program, tmp_path):
    """Repeated calls, each of which adds what is new."""
    log, tb = tmp_path / "run.jsonl", tmp_path / "tb"
    with slow(program, log) as run:
        try:
            wait_for(5, log)
            first = hvi.tensorboard.convert(log, tb)
            seen = events(tb)["residual"]
            wait_for(first + 200, log)
            second = hvi.tensorboard.convert(log, tb)
            assert run.poll() is None and first >= 5 and second > 0
            assert len(seen) == first and len(events(tb)["residual"]) == first + second
        finally:
            run.send_signal(signal.SIGINT)
    hvi.tensorboard.convert(log, tb)
    assert events(tb) == expected(log)


def test_follow(program, tmp_path):
    """One call that stays until the log says that the run has ended."""
    log, tb = tmp_path / "run.jsonl", tmp_path / "tb"
    with slow(program, log) as run:
        wait_for(2, log)
        with subprocess.Popen([sys.executable, "-m", "hvi", "tensorboard", log, tb, "--follow", "--every", "0.1", "--idle", "5"],
                              stderr=subprocess.PIPE, text=True) as follow:
            end = time.monotonic() + 60
            while time.monotonic() < end and not (tb.exists() and events(tb).get("residual")):
                time.sleep(0.2)
            during = len(events(tb)["residual"])
            assert run.poll() is None and follow.poll() is None and during > 0
            run.send_signal(signal.SIGINT)
            run.wait()
            assert follow.wait(60) == 0, follow.stderr.read()
    assert events(tb) == expected(log) and len(events(tb)["residual"]) > during


def test_other_runs_are_refused(program, command, tmp_path):
    log, tb = tmp_path / "run.jsonl", tmp_path / "tb"
    program("solve", "pennies", "--method", "gd", "--iters", 10, "--log", log, "-q")
    assert command("tensorboard", log, tb).returncode == 0
    (tb / "events.out.tfevents.1.other").write_bytes(b"")
    program("solve", "rps", "--method", "gd", "--iters", 10, "--log", log, "-q")
    done = command("tensorboard", log, tb)
    assert done.returncode == 3 and "another run" in done.stderr and done.stderr.count("\n") == 1
    assert command("tensorboard", log, tb, "--force").returncode == 0
    assert (tb / "events.out.tfevents.1.other").exists()  # what is not ours stays
    (tb / "events.out.tfevents.1.other").unlink()
    assert events(tb) == expected(log)


def test_the_server_shows_them(program, tmp_path):
    """TensorBoard's own server, as a browser would ask it."""
    log = tmp_path / "run.jsonl"
    program("solve", "pennies", "--method", "gd", "--iters", 20, "--log", log, "-q")
    hvi.tensorboard.convert(log, tmp_path / "tb" / "pennies")
    with subprocess.Popen([sys.executable, "-m", "tensorboard.main", "--logdir", tmp_path / "tb", "--port", "0", "--host", "127.0.0.1"],
                          stderr=subprocess.PIPE, text=True) as server:
        try:
            line = next(x for x in server.stderr if "http://" in x)
            at, rows, end = line[line.index("http://"):].split()[0], [], time.monotonic() + 60
            while time.monotonic() < end and len(rows) < 21:
                time.sleep(0.5)
                try:
                    with urllib.request.urlopen(f"{at}data/plugin/scalars/scalars?run=pennies&tag=residual") as answer:
                        rows = json.load(answer)
                except urllib.error.HTTPError:
                    pass
        finally:
            server.terminate()
    want = expected(log)["residual"]
    assert [r[1] for r in rows] == list(want)
    assert all(r[2] == want[r[1]] for r in rows)
