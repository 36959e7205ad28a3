"""hvi.solve and hvi.inspect against the program's JSON, to the bit, and what bad input gives."""
import copy
import math
import os
import pickle
import shutil
import signal
import subprocess
import threading
import time

import numpy as np
import pytest

import hvi

ROOT = os.environ.get("HVI_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
GAME = os.path.join(ROOT, "examples", "game.yaml")


def same(mine, theirs, where=""):
    """Equal to the bit; null stands for what is not finite."""
    if isinstance(theirs, dict):
        for k, v in theirs.items():
            same(mine[k], v, f"{where}.{k}")
    elif isinstance(theirs, list):
        assert len(mine) == len(theirs), where
        for i, v in enumerate(theirs):
            same(mine[i], v, f"{where}[{i}]")
    elif theirs is None:
        assert mine is None or not np.isfinite(mine), where
    else:
        assert mine == theirs, (where, mine, theirs)


CASES = [
    ("pennies", {}), ("pennies", dict(method="gd", inner=10)), ("rps", {}), ("rps", dict(method="lm", inner=3, eta=0.2)),
    ("quadratic", dict(method="gn", iters=50)), ("pennies", dict(method="phgd", eta="best")),
    ("pennies", dict(method="adam", inner=5, inner_lr=0.01, alpha=0.5, seed=7)), (GAME, {}),
    ("chain", dict(method="gd", iters=40)), ("performative-mean", dict(method="gn", iters=20)),
    ("pennies", dict(method="extragradient", iters=200)),
]


@pytest.mark.parametrize("name, settings", CASES, ids=[f"{os.path.basename(n)}-{s.get('method', 'auto')}" for n, s in CASES])
def test_same_bits_as_program(program, name, settings):
    options = [w for k, v in settings.items() for w in (f"--{k.replace('_', '-')}", v)]
    theirs = program("solve", name, *options)
    r = hvi.solve(name, **settings)
    for gone in ("schema_version", "advice", "seconds"):
        theirs.pop(gone)
    same(r.to_dict(), theirs)


@pytest.mark.parametrize("name, settings", [("pennies", {}), ("pennies", dict(method="gd", inner=10)), ("performative-mean", {})])
def test_inspect_same_as_program(program, name, settings):
    theirs = program("inspect", name, *[w for k, v in settings.items() for w in (f"--{k}", v)])
    theirs.pop("schema_version")
    same(hvi.inspect(name, **settings).to_dict(), theirs)


NOT_MONOTONE = """players:
- {name: a, layers: [{matrix: [[1.0]], activation: tanh}], start: [0.5], quadratic: {matrix: [[-1]]}}
- {name: b, layers: [{matrix: [[1.0]], activation: tanh}], start: [0.3]}
"""


@pytest.mark.parametrize("name", ["pennies", "counterexample", "performative-mean", "not-monotone.yaml"])
def test_check_same_as_program(program, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "not-monotone.yaml").write_text(NOT_MONOTONE)
    theirs, mine = program("check", name), hvi.check(name).to_dict()
    assert theirs["operator"]["kind"] == ("not monotone" if name.endswith("yaml") else "strongly monotone")
    for player in theirs["players"]:
        del player["set"], player["model"]
    assert set(theirs) == set(mine) | {"schema_version", "settings"} and set(theirs["operator"]) == set(mine["operator"])
    same(mine, {k: theirs[k] for k in mine})


def test_options_instance_theta0(program):
    theirs = program("solve", "pennies", "--set", "weight=0.5", "--method", "gd", "--theta0", "1,0.25")
    r = hvi.solve("pennies", method="gd", options={"weight": 0.5}, theta0=[1, 0.25])
    same(r.z, theirs["z"])
    theirs = program("solve", "rps", "--instance", "3", "--seed", "5")
    same(hvi.solve("rps", instance=3, seed=5).theta, theirs["theta"])


def game():
    return {"players": [{"name": "a", "layers": [{"matrix": [[1.0]], "activation": "tanh"}], "start": [0.5]},
                        {"name": "b", "layers": [{"matrix": [[1.0]], "activation": "tanh"}], "start": [0.3]}],
            "payoffs": [[[[0.0]], [[1.0]]], [[[-1.0]], [[0.0]]]]}


@pytest.mark.parametrize("x", [np.float32([1, 0.25]), np.array([[1, 0.25], [5, 5]], order="F")[0], np.array([1, 9, 0.25])[::2],
                               np.array([1, 0.25], ">f8"), (1, 0.25), np.ma.array([1, 0.25])], ids=range(6))
def test_arrays_of_every_kind(x):
    assert hvi.solve("pennies", method="gd", theta0=x).theta.tolist() == hvi.solve("pennies", method="gd", theta0=[1, 0.25]).theta.tolist()


def test_files_of_every_name(tmp_path):
    for name in (tmp_path / "ü ñ.yaml", os.path.join(os.fsencode(tmp_path), b"\xff.yaml")):
        shutil.copy(GAME, name)
        r = hvi.solve(name)
        assert np.array_equal(r.z, hvi.solve(GAME).z) and repr(r).encode()


def test_code_with_options(program, tmp_path):
    """A shared library is treated as a built-in problem, with its options and instances."""
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    made = tmp_path / "own.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-ffp-contract=off", "-I", os.path.join(ROOT, "include"), "-o", made,
                    os.path.join(ROOT, "examples", "own.c"), "-lm"], check=True)
    for instance in (0, 2):
        theirs = program("solve", made, "--set", "price=8", "--instance", instance)
        r = hvi.solve(made, options={"price": 8}, instance=instance)
        same(r.z, theirs["z"])
        same(r.settings, theirs["settings"])
    with pytest.raises(hvi.InputError, match="pricee"):
        hvi.problem(made, options={"pricee": 1})


def test_results_are_copied_and_pickled():
    for r in (hvi.solve("pennies"), hvi.inspect("pennies"), hvi.check("pennies")):
        for other in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r)):
            assert repr(other) == repr(r) and other.to_dict().keys() == r.to_dict().keys()


def test_text_of_a_file():
    with open(GAME) as f:
        source = f.read()
    assert np.array_equal(hvi.solve(source).z, hvi.solve(GAME).z)


def test_dict_of_a_file(tmp_path):
    yaml = pytest.importorskip("yaml")
    with open(GAME) as f:
        d = yaml.safe_load(f)
    assert np.array_equal(hvi.solve(d).z, hvi.solve(GAME).z)


def test_dict_with_arrays():
    P = np.array([[0.9, 0.1], [0.2, 0.8]])
    r = hvi.solve({"transitions": P, "rewards": np.array([1.0, 0.0]), "gamma": 0.9})
    exact = np.linalg.solve(np.eye(2) - 0.9 * P, [1, 0])
    assert r.converged and np.allclose(r.z, exact, rtol=1e-5)


def test_trace_and_callback():
    rows = []
    r = hvi.solve("pennies", method="gd", inner=10, iters=30, callback=rows.append, trace="full")
    assert len(r.trace) == 31 and r.trace["outer"][-1] == 30
    assert [row.outer for row in rows] == list(range(31))
    assert [row.residual for row in rows] == r.trace["residual"].tolist()
    assert np.array_equal(r.trace_z[-1], r.z) and np.array_equal(rows[-1].theta, r.theta)
    assert np.array_equal(r.trace_theta, [row.theta for row in rows])
    assert len(hvi.solve("pennies", trace=False).trace) == 0
    for name in ("outer", "inner", "loss0", "loss", "ratio", "alpha", "dist2", "residual", "f_evals", "seconds"):
        assert name in r.trace.dtype.names


def test_pandas_reads_the_trace():
    pandas = pytest.importorskip("pandas")
    assert len(pandas.DataFrame(hvi.solve("pennies").trace)) == 7


@pytest.mark.parametrize("kind", [bool, np.bool_])
def test_callback_stops(kind):
    r = hvi.solve("pennies", method="gd", callback=lambda row: kind(row.outer < 5))
    assert r.outcome == r.status == "stopped" and r.outer == 5


def test_callback_raises():
    def raises(row):
        if row.outer == 3:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        hvi.solve("pennies", method="gd", callback=raises)


@pytest.mark.parametrize("arguments, kind, line", [
    (dict(problem="penies"), hvi.InputError, "unknown problem 'penies'; did you mean 'pennies'?"),
    (dict(problem="pennies", inner=-1), hvi.InputError, "inner: must be a whole number from 1 to 1e12, not '-1'"),
    (dict(problem="pennies", iner=1), hvi.InputError, "solve: unknown argument 'iner'; did you mean 'inner'?"),
    (dict(problem="pennies", calback=print), hvi.InputError, "solve: unknown argument 'calback'; did you mean 'callback'?"),
    (dict(problem="pennies", eta=math.nan), hvi.InputError, "eta: must be"),
    (dict(problem="pennies", method="gd", momentum=0.5), hvi.ArgumentError, "method gd does not use momentum; it is for momentum"),
    (dict(problem="pennies", method="phgd", inner=5), hvi.ArgumentError, "method phgd fixes inner at 1"),
    (dict(problem="pennies", method="gdd"), hvi.ArgumentError, "unknown method 'gdd'"),
    (dict(problem="pennies", theta0=[1, 2, 3]), hvi.InputError, "theta0 has shape (3,), and must have 2 numbers"),
    (dict(problem="pennies", theta0=[1, math.nan]), hvi.InputError, "theta0 holds a number that is not finite"),
    (dict(problem="/nowhere.yaml"), OSError, "cannot open '/nowhere.yaml'"),
    (dict(problem={"players": 3}), hvi.InputError, "dict:2: players must be a list of 1 to 10000 players"),
    (dict(problem={"nothing": 3}), hvi.InputError, "this has neither"),
    (dict(problem="pennies", options={"wait": 1}), hvi.InputError, "wait"),
    (dict(problem="pennies", precision="half"), hvi.ArgumentError, "precision: must be"),
    (dict(problem="pennies", method="gd", iters=0), hvi.Error, "nothing"),
    # what C would cut off, and NumPy make numbers of
    (dict(problem="pennies\0.yaml"), hvi.ArgumentError, "without zeros, not 'pennies\\x00.yaml'"),
    (dict(problem="pennies", method="gd\0"), hvi.ArgumentError, "a method must be a text"),
    (dict(problem="pennies", method="gd", inner="5\0"), hvi.ArgumentError, "inner must be a text"),
    (dict(problem="pennies", method=None), hvi.ArgumentError, "a method must be a text without zeros, not None"),
    (dict(problem=3), hvi.ArgumentError, "a problem is a name, a path, a dictionary, a text or an hvi.Problem, not 3"),
    (dict(problem={"players": {1, 2}}), hvi.InputError, "dict: a problem holds numbers"),
    (dict(problem=b"/nowhere/\xff.yaml"), OSError, "cannot open '/nowhere/\\xff.yaml'"),
    (dict(problem="pennies", theta0=np.ma.array([1.0, 2.0], mask=[0, 1])), hvi.InputError, "theta0 has masked entries"),
    (dict(problem="pennies", theta0=[1j, 2]), hvi.InputError, "theta0 has type complex128"),
    (dict(problem="pennies", theta0=["1", "2"]), hvi.InputError, "theta0 has type <U1"),
    (dict(problem="pennies", theta0=[None, 1]), hvi.InputError, "theta0 has type object"),
    (dict(problem="pennies", theta0=[[1], [1, 2]]), hvi.InputError, "theta0 is no array"),
    (dict(problem="pennies", seed=-1), hvi.ArgumentError, "seed: must be a whole number from 0, not -1"),
    (dict(problem="pennies", instance=1.5), hvi.ArgumentError, "instance: must be a whole number from 0, not 1.5"),
    (dict(problem="pennies", options=[1]), hvi.ArgumentError, "options must be a dictionary"),
    (dict(problem={"players": []}, options={"weight": 1}), hvi.ArgumentError, "for built-in problems"),
    (dict(problem=GAME, instance=1), hvi.ArgumentError, "for built-in problems"),
    (dict(problem=hvi.problem("pennies"), options={"weight": 1}), hvi.ArgumentError, "where a problem is made"),
    (dict(problem=hvi.problem("pennies"), precision="single"), hvi.ArgumentError, "where a problem is made"),
    (dict(problem="pennies", callback=3), hvi.ArgumentError, "callback must be a function"),
    (dict(problem="pennies", trace="half"), hvi.ArgumentError, "trace must be True, False or 'full'"),
])
def test_bad_input(arguments, kind, line):
    with pytest.raises(kind) as e:
        hvi.solve(**arguments)
    assert line in str(e.value) and isinstance(e.value, hvi.Error)


@pytest.mark.parametrize("function", [hvi.inspect, hvi.check])
def test_wrong_names(function):
    with pytest.raises(hvi.InputError, match="unknown argument 'sed'; did you mean 'seed'"):
        function("pennies", sed=2)


def interrupt_after(seconds):
    def press():
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()


def test_ctrl_c():
    interrupt_after(0.2)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        hvi.solve("pennies", method="gd", iters=None, max_evals=10**12, rounding=False, stall_window=0, trace=False)
    assert time.monotonic() - start < 20
    assert hvi.solve("pennies").converged


def test_threads_give_the_same_bits():
    alone = hvi.solve("rps", method="gd", inner=20, iters=3000, rounding=False)
    found = [None] * 4

    def work(i):
        found[i] = hvi.solve("rps", method="gd", inner=20, iters=3000, rounding=False)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for r in found:
        assert np.array_equal(r.theta, alone.theta) and np.array_equal(r.trace["residual"], alone.trace["residual"])


def test_shows():
    r = hvi.solve("pennies")
    assert "converged" in repr(r) and "<table" in r._repr_html_() and "<table" in hvi.inspect("pennies")._repr_html_()
    check = hvi.check("pennies")
    assert all(t.name in check._repr_html_() for t in check.tests) and "2 parameters, 2 outputs, 2 players" in repr(hvi.problem("pennies"))
    assert "--" not in hvi.solve.__doc__ and len({len(x) - len(x.lstrip()) for x in hvi.solve.__doc__.splitlines() if "; a " in x}) == 1
    assert "inner_lr" in hvi.solve.__doc__ and "a number above 0" in hvi.solve.__doc__
    assert {row.name for row in hvi.settings_of("solver")} >= {"inner", "eta", "tol"}
    assert "gd" in hvi.methods() and "pennies" in hvi.problems()


def test_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = hvi.solve("pennies", method="gd").plot()
    assert [line.get_label() for line in ax.lines] == ["residual", "dist2"]


def test_everything_has_a_docstring():
    for name in dir(hvi):
        thing = getattr(hvi, name)
        if name.startswith("_") or not callable(thing):
            continue
        assert thing.__doc__, name
        for member in vars(thing) if isinstance(thing, type) else ():
            if not member.startswith("_"):
                assert getattr(thing, member).__doc__, f"{name}.{member}"
