"""NumPy's BLAS stays what it was: the package has an OpenBLAS of its own, on one thread."""
import ctypes
import json
import os
import subprocess
import sys

import pytest

CODE = r"""
import ctypes, os, sys
import numpy as np
def pools():
    found = {}
    for line in open("/proc/self/maps"):
        path = line.split()[-1]
        if "openblas" not in path or path in found or not os.path.exists(path):
            continue
        for name in ("openblas_%s_num_threads", "scipy_openblas_%s_num_threads64_", "scipy_openblas_%s_num_threads"):
            c = ctypes.CDLL(path)
            if hasattr(c, name % "get"):
                found[path] = (getattr(c, name % "get"), getattr(c, name % "set"))
    return found
np.ones((64, 64)) @ np.ones((64, 64))
before = pools()
for get, put in before.values():
    put(3)
import hvi
from hvi._core import lib
assert lib.hvi_py_blas_count() == 1
seen = []
look = lambda row: seen.append([get() for get, put in before.values()])
hvi.solve("quadratic", method="gn", iters=20, options=OPTIONS, callback=look)
assert pools().keys() == before.keys(), pools()
assert all(n == 3 for row in seen for n in row), seen
assert all(get() == 3 for get, put in before.values())
assert lib.hvi_py_blas_count() == 1
a = np.random.default_rng(0).normal(size=(300, 300))
assert np.allclose(np.linalg.solve(a, a), np.eye(300))
print(len(before), len(seen))
"""


def test_numpys_threads_are_not_changed():
    code = CODE.replace("OPTIONS", "None")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert int(out.stdout.split()[1]) > 1


@pytest.mark.parametrize("settings", [{}, {"HVI_CPU_LEVEL": "baseline"}, {"HVI_CPU_LEVEL": "avx2"}, {"OPENBLAS_CORETYPE": "Nehalem"}], ids=str)
def test_kernels_are_the_programs(program, settings):
    """Those of the level of instructions, or what the environment asks for; the environment stays what it is."""
    code = "import ctypes; from hvi._core import lib, text; get = ctypes.CDLL(None).getenv; get.restype = ctypes.c_char_p; " \
           "print(text(lib.hvi_py_blas_kernels()), (get(b'OPENBLAS_CORETYPE') or b'unset').decode())"
    env = {k: v for k, v in os.environ.items() if k not in ("HVI_CPU_LEVEL", "OPENBLAS_CORETYPE")} | settings
    mine, theirs = (subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout for words in (
        [sys.executable, "-c", code], [os.environ["HVI_PROGRAM"], "info", "--json"]))
    assert mine.split() == [json.loads(theirs)["blas_core"], settings.get("OPENBLAS_CORETYPE", "unset")]


def test_names_are_hidden():
    from hvi import _hvi

    library = ctypes.CDLL(_hvi.__file__)
    for name in ("openblas_set_num_threads", "cblas_dgemm", "dgemm_", "LAPACKE_dgesvd"):
        assert not hasattr_own(_hvi.__file__, name), name
    assert library.hvi_version


def hasattr_own(path: str, name: str) -> bool:
    """Whether the file itself exports a name."""
    out = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return any(line.split()[-1] == name for line in out.splitlines())
