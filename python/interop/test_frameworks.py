"""PyTorch and JAX as the source of derivatives: the snippets of docs/python.md, as they stand there."""
import os
import re
from pathlib import Path

import numpy as np
import pytest

import hvi

PAGE = Path(os.environ.get("HVI_SOURCE_DIR", Path(__file__).parents[2])) / "docs" / "python.md"
A, B = np.array([[2.0, 1.0, 0.0], [-1.0, 1.5, 0.5], [0.0, -0.5, 1.0]]), np.array([0.3, -0.2, 0.1])
W = np.array([[1.0, 0.2, 0.0, 0.1], [0.0, 1.0, -0.3, 0.0], [0.2, 0.0, 1.0, -0.2]])


def snippet(word: str) -> str:
    """The block of the page that has the word in it."""
    found = [b for b in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if word in b]
    assert len(found) == 1, word
    return found[0]


def by_hand() -> hvi.Problem:
    """The same problem with the formulas written out."""
    def slope(t):
        return 1 - np.tanh(W @ t) ** 2

    return hvi.Problem(F=lambda z: A @ (z - B), g=lambda t: np.tanh(W @ t), vjp=lambda t, u: W.T @ (slope(t) * u),
                       jvp=lambda t, v: slope(t) * (W @ v), theta0=np.full(4, 0.5), sets=(-1, 1))


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_snippet(framework):
    names = dict(hvi=hvi, np=np, F=lambda z: A @ (z - B), theta0=np.full(4, 0.5))
    code = snippet(f"import {framework}\n")
    if framework == "torch":
        torch = pytest.importorskip("torch")
        weights = torch.from_numpy(W)
        names["net"] = lambda theta: torch.tanh(weights @ theta)
    else:
        jax = pytest.importorskip("jax")
        names["net"] = lambda theta: jax.numpy.tanh(W @ theta)
    exec(compile(code, f"docs/python.md ({framework})", "exec"), names)
    mine = names["mine"]
    assert mine.check().passed
    a, b = hvi.solve(mine), hvi.solve(by_hand())
    assert a.converged and np.allclose(a.z, b.z, atol=1e-6) and np.allclose(a.z, B, atol=1e-4)
    one, two = (hvi.solve(p, method="gd", inner=5, iters=20).theta for p in (mine, by_hand()))
    assert np.allclose(one, two, rtol=1e-12)  # double precision all the way
