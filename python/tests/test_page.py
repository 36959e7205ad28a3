"""docs/python.md is true: its snippets run, and what it shows is what comes out."""
import os
import re
from pathlib import Path

import numpy as np
import pytest

import hvi

PAGE = Path(os.environ.get("HVI_SOURCE_DIR", Path(__file__).parents[2])) / "docs" / "python.md"


def blocks() -> list:
    """The Python of the page, but for what needs PyTorch or JAX, which `make interop` runs."""
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    return [b for b in found if "import torch" not in b and "import jax" not in b]


def transitions(n=200) -> dict:
    rng = np.random.default_rng(1)
    return dict(obs=rng.normal(size=(n, 3)), reward=rng.normal(size=n), next_obs=rng.normal(size=(n, 3)), terminated=np.zeros(n, bool))


def names() -> dict:
    """What the snippets take for granted."""
    data = transitions()
    return dict(hvi=hvi, np=np, A=np.array([[2.0, 1.0], [-1.0, 1.0]]), W=np.array([[1.0, 0.5], [0.0, 2.0]]), b=np.array([0.3, -0.2]),
                states=data["obs"][:20], values=np.zeros(20), **data)


def sessions() -> list:
    """Lines after >>> with what is shown below them."""
    return [part.strip().split("\n", 1) for b in blocks() if b.startswith(">>>") for part in b.split(">>> ")[1:] if "\n" in part.strip()]


def test_snippets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = {}
    for code in blocks():
        if not code.startswith(">>>"):
            known = names()
            exec(compile(code, "docs/python.md", "exec"), known)
    assert known["r"].score.states == 20 and (tmp_path / "value.safetensors").exists()


@pytest.mark.parametrize("call, shown", sessions())
def test_sessions(call, shown):
    def solve_with(**changed):
        return hvi.solve(hvi.Problem(**dict(F=lambda z: z, g=np.tanh, vjp=lambda t, u: (1 - np.tanh(t) ** 2) * u,
                                            jvp=lambda t, v: (1 - np.tanh(t) ** 2) * v, theta0=[1.0, 1.0]) | changed))

    known = {**names(), "nan": np.nan, "solve": hvi.solve, "evaluate": hvi.evaluate, "solve_with": solve_with, "data": transitions()}
    with np.errstate(all="ignore"):
        try:
            found = repr(eval(call, known))
        except Exception as e:
            found = f"{type(e).__name__}: {e}"
    assert found == shown
