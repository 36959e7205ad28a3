"""NumPy's BLAS stays what it was: the package has an OpenBLAS of its own, on one thread."""
import ctypes
import os
import re
import subprocess
import sys

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


def test_kernels_are_those_of_the_level():
    code = ("import ctypes, hvi; c = ctypes.CDLL(None); c.getenv.restype = ctypes.c_char_p\n"
            "print(hvi.evaluate(env='lqr', policy='default', steps=1, batch=10).level, c.getenv(b'OPENBLAS_CORETYPE'))")
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    for asked, expected in (({}, r"(baseline(-\w+)?|avx2|avx512) None"),
                            ({"OPENBLAS_CORETYPE": "Prescott"}, r"(baseline(-\w+)?|avx2-Prescott|avx512-Prescott) b'Prescott'")):
        out = subprocess.run([sys.executable, "-c", code], env={**environment, **asked}, capture_output=True, text=True)
        assert out.returncode == 0, out.stderr
        assert re.fullmatch(expected, out.stdout.strip()), out.stdout
