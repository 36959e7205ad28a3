"""hvi.reproduce runs the program."""
import os
import signal
import threading
import time

import pytest

import hvi

STUDY = """
id: mine
title: Two ways to play pennies
kind: trajectory
problem: pennies
seed: 1
quick: {iterations: 50}
full: {iterations: 50}
methods:
  - {label: GD(10), method: gd, eta: 0.1, inner: 10, inner_lr: 1}
  - {label: LM, method: lm, eta: 0.1, inner: 1, damping: 0.02}
"""


def test_refusals(monkeypatch):
    monkeypatch.setenv("HVI_PROGRAM", "/nowhere/hvi")
    with pytest.raises(hvi.SystemFailure, match="there is no program '/nowhere/hvi'"):
        hvi.reproduce("pennies")


def test_unknown_experiment(tmp_path):
    if not os.environ.get("HVI_PROGRAM"):
        pytest.skip("HVI_PROGRAM names no program")
    with pytest.raises(hvi.InputError, match="unknown experiment 'nonsense'"):
        hvi.reproduce("nonsense", out=tmp_path / "out")


def test_small_experiment(tmp_path):
    if not os.environ.get("HVI_PROGRAM"):
        pytest.skip("HVI_PROGRAM names no program")
    study = tmp_path / "mine.yaml"
    study.write_text(STUDY)
    r = hvi.reproduce(study, out=tmp_path / "out", jobs=1)
    assert r.experiments == ["mine"] and os.path.exists(r.page) and r.claims["mine"] == []
    assert "mine" in r._repr_html_() and (tmp_path / "out" / "mine" / "summary.csv").exists()


def test_ctrl_c(tmp_path):
    """The program ends too, and what it had is resumed."""
    if not os.environ.get("HVI_PROGRAM"):
        pytest.skip("HVI_PROGRAM names no program")
    study = tmp_path / "mine.yaml"
    study.write_text(STUDY.replace("quick: {iterations: 50}", "quick: {iterations: 5000000}"))
    threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        hvi.reproduce(study, out=tmp_path / "out", jobs=1)
    assert time.monotonic() - start < 20
    with pytest.raises(ChildProcessError):  # no child is left
        os.waitpid(-1, os.WNOHANG)


def test_names_are_no_options(tmp_path):
    if not os.environ.get("HVI_PROGRAM"):
        pytest.skip("HVI_PROGRAM names no program")
    with pytest.raises(hvi.Error, match="unknown experiment '--help'"):
        hvi.reproduce("--help", out=tmp_path / "out")
