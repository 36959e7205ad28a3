"""Problems of Python callables: solved, checked, and what wrong ones give."""
import copy
import gc
import math
import os
import pickle
import signal
import threading
import time
import weakref

import numpy as np
import pytest

import hvi

A = np.array([[2.0, 1.0], [-1.0, 1.0]])
B = np.array([0.3, -0.2])


def pieces(**changed):
    """F(z) = A (z - b), z = tanh(theta): solved where tanh(theta) = b."""
    made = dict(F=lambda z: A @ (z - B), g=np.tanh, vjp=lambda t, u: (1 - np.tanh(t) ** 2) * u,
                jvp=lambda t, v: (1 - np.tanh(t) ** 2) * v, theta0=[1.0, 1.0], sets=(-1, 1), solution=B)
    made.update(changed)
    return made


def test_solve_and_check():
    p = hvi.Problem(**pieces())
    r = hvi.solve(p)
    assert r.converged and np.allclose(r.z, B, atol=1e-5) and np.allclose(np.tanh(r.theta), r.z)
    report = p.check()
    assert report.passed and report.operator.affine and report.operator.kind == "strongly monotone", report
    assert hvi.inspect(p).verdict == "solved"
    assert p.dim == p.out == 2 and "problem" in repr(p)


def test_same_as_built_in():
    """The quadratic of a built-in method, with the operator and the model in Python: the same steps."""
    p = hvi.Problem(**pieces())
    a, b = hvi.solve(p, method="gd", inner=7, iters=25), hvi.solve(p, method="gd", inner=7, iters=25)
    assert np.array_equal(a.trace["residual"], b.trace["residual"])
    t = np.array([1.0, 1.0])  # the loop written out: gd with seven steps on each surrogate
    for _ in range(25):
        v = np.tanh(t) - 0.1 * (A @ (np.tanh(t) - B))
        for _ in range(7):
            t = t - (1 - np.tanh(t) ** 2) * (np.tanh(t) - v)
    assert np.allclose(a.theta, t, rtol=1e-13)


def test_players():
    one = dict(g=np.tanh, vjp=lambda t, u: (1 - np.tanh(t) ** 2) * u, jvp=lambda t, v: (1 - np.tanh(t) ** 2) * v)
    p = hvi.Problem(lambda z: np.array([z[1], -z[0]]) + z, [one["g"]] * 2, [one["vjp"]] * 2, [one["jvp"]] * 2,
                    [[0.5], [0.7]], sets=[(-1, 1), (-1, 1)], players=["even", "odd"])
    r = hvi.solve(p)
    assert r.converged and [x.name for x in r.players] == ["even", "odd"] and np.abs(r.z).max() < 1e-5
    assert p.check().passed
    assert hvi.solve(p, method="agda", iters=10).outer == 10


def test_simplex():
    def softmax(t):
        e = np.exp(t - t.max())
        return e / e.sum()

    def product(t, u):
        z = softmax(t)
        return z * (u - z @ u)

    p = hvi.Problem(lambda z: z - np.array([0.2, 0.3, 0.5]), softmax, product, product, np.zeros(3), sets="simplex")
    assert p.check().passed and np.allclose(hvi.solve(p).z, [0.2, 0.3, 0.5], atol=1e-4)


def test_theta_in_F():
    p = hvi.Problem(**pieces(F=lambda z, theta: A @ (np.tanh(theta) - B), theta_in_F=True))
    assert np.allclose(hvi.solve(p, method="gd", iters=2000).z, B, atol=1e-4)


def test_wrong_derivative_is_found():
    p = hvi.Problem(**pieces(vjp=lambda t, u: 1.1 * u))
    report = p.check()
    assert not report.passed and any(t.name == "vjp" and t.verdict == "failed" and t.text for t in report.tests)
    assert "vjp" in repr(report)


@pytest.mark.parametrize("way", [pickle.dumps, copy.deepcopy])
def test_problems_are_not_pickled(way):
    with pytest.raises(TypeError, match="made anew"):
        way(hvi.problem("pennies"))


def test_wrong_shape():
    p = hvi.Problem(**pieces(F=lambda z: np.zeros(3)))
    with pytest.raises(hvi.InputError, match=r"F returned an array of shape \(3,\), and must return 2 numbers"):
        hvi.solve(p)
    with pytest.raises(hvi.InputError, match="vjp returned"):
        hvi.solve(hvi.Problem(**pieces(vjp=lambda t, u: np.eye(2))), method="gd")
    for changed, line in ((dict(solution=[1]), "solution has shape"), (dict(vjp=None), "vjp must be callable"),
                          (dict(sets="ball"), "a set is None"), (dict(weights=np.ones((2, 2))), "weights has shape"),
                          (dict(theta0=np.ones((2, 2))), "theta0 has shape"), (dict(players=["a", "b"]), "one for each of 1"),
                          (dict(F=3), "F must be callable"), (dict(eta="a"), "eta has type"), (dict(g=[np.tanh]), "lists of one"),
                          (dict(sets=([1, 2, 3], 4)), "a bound has shape"), (dict(sets=("a", "b")), "a bound has type"),
                          (dict(players="a"), "must be a list of names")):
        with pytest.raises(hvi.InputError, match=line):
            hvi.Problem(**pieces(**changed))
    with pytest.raises(hvi.ArgumentError, match="solution 2 is nan"):
        hvi.Problem(**pieces(solution=[0.1, math.nan]))


@pytest.mark.parametrize("answer, line", [
    (None, "what F returned has type object"), (np.array([1j, 2]), "complex128"), (["1", "2"], "has type <U1"), ({}, "has type object"),
    (np.ma.array([1.0, 2.0], mask=[1, 0]), "masked"), (np.ones((2, 1)), r"shape \(2, 1\)"), (1.0, r"shape \(\)")], ids=range(7))
def test_no_numbers(answer, line):
    """Nothing, or what NumPy would make numbers of; one output too, where nothing would be a NaN."""
    with pytest.raises(hvi.InputError, match=line):
        hvi.solve(hvi.Problem(**pieces(F=lambda z: answer)))
    if not isinstance(answer, float):
        with pytest.raises(hvi.InputError):
            hvi.solve(hvi.Problem(lambda z: answer, lambda t: t, lambda t, u: u, lambda t, v: v, [1.0]))


def test_nan():
    r = hvi.solve(hvi.Problem(**pieces(F=lambda z: z * np.nan)), method="gd", iters=20)
    assert r.status == "diverged" and not np.isfinite(r.residual)
    with pytest.raises(hvi.InputError, match="finite"):
        hvi.solve(hvi.Problem(**pieces(theta0=[1.0, np.nan])))


def test_raises():
    def F(z):
        raise ZeroDivisionError("in F")

    for where in ("solve", "inspect", "check"):
        with pytest.raises(ZeroDivisionError, match="in F"):
            getattr(hvi, where)(hvi.Problem(**pieces(F=F)))
    calls = []

    def vjp(t, u):
        calls.append(1)
        if len(calls) > 5:
            raise OSError("late")
        return u

    with pytest.raises(OSError, match="late"):
        hvi.solve(hvi.Problem(**pieces(vjp=vjp)), method="gd", inner=10**6)
    assert len(calls) == 6  # after that nobody calls it again


def test_nested():
    """A callable may solve something itself."""
    p = hvi.Problem(**pieces(F=lambda z: hvi.solve("pennies").z * 0 + A @ (z - B)))
    assert np.allclose(hvi.solve(p, method="gd", iters=50).z, hvi.solve(hvi.Problem(**pieces()), method="gd", iters=50).z)


def test_nested_failure():
    """What the inner solve raises is the inner solve's: who catches it goes on."""
    def F(z):
        with pytest.raises(ZeroDivisionError):
            hvi.solve(hvi.Problem(**pieces(F=lambda z: 1 / 0)))
        return A @ (z - B)

    assert hvi.solve(hvi.Problem(**pieces(F=F)), method="gd", iters=5).outer == 5


def test_nothing_is_left_behind():
    """Problems, solvers and callables go when nobody has them."""
    class F:
        def __call__(self, z):
            return A @ (z - B)

    f = F()
    gone, p = weakref.ref(f), hvi.Problem(**pieces(F=f))
    hvi.solve(p)
    del f, p
    gc.collect()
    assert gone() is None


def test_ctrl_c_in_a_callable():
    def F(z):
        for _ in range(1000):
            time.sleep(0.01)
        return z

    p = hvi.Problem(**pieces(F=F))
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        hvi.solve(p)
    assert time.monotonic() - start < 8


def test_kept_arrays_stay():
    """What a callable keeps is a copy."""
    seen = []
    p = hvi.Problem(**pieces(F=lambda z: (seen.append(z), A @ (z - B))[1]))
    r = hvi.solve(p, method="gd", iters=10, trace="full")
    first = next(i for i, z in enumerate(seen) if np.array_equal(z, r.trace_z[0]))
    assert np.array_equal(seen[-1], r.z) and any(np.array_equal(z, r.trace_z[5]) for z in seen[first:])


def test_two_threads_one_problem():
    p = hvi.Problem(**pieces())
    alone, found = hvi.solve(p, method="gd", iters=300), []

    def good():
        found.append(hvi.solve(p, method="gd", iters=300))

    def bad():
        with pytest.raises(hvi.InputError):
            hvi.solve(hvi.Problem(**pieces(F=lambda z: np.zeros(5))))

    threads = [threading.Thread(target=f) for f in (good, bad, good, bad)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 2 and all(np.array_equal(r.theta, alone.theta) for r in found)
