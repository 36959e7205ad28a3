"""hvi.evaluate against the program, to the bit; environments of Python; what bad data give."""
import copy
import json
import os
import pickle
import signal
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import hvi

TYPES = {"F32": "<f4", "F64": "<f8", "BOOL": "?"}


def read(path) -> dict:
    """The tensors of a .safetensors file, read here by hand."""
    raw = Path(path).read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8:end])
    return {k: np.frombuffer(raw[end:][slice(*v["data_offsets"])], TYPES[v["dtype"]]).reshape(v["shape"])
            for k, v in head.items() if k != "__metadata__" and v["dtype"] in TYPES}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Data and a test set of lqr, made by the program."""
    program, folder = os.environ.get("HVI_PROGRAM"), tmp_path_factory.mktemp("lqr")
    if not program:
        pytest.skip("HVI_PROGRAM names no program")
    for words in (["data", "collect", "lqr", "--transitions", "3000", "--out", "data.safetensors"],
                  ["testset", "lqr", "--states", "40", "--horizon", "50", "--out", "test.safetensors"]):
        subprocess.run([program, *words, "--policy", "default", "-q"], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("settings", [
    {}, dict(batch=0, **{"lambda_": 0.9}), dict(method="gd", inner=3, inner_lr=0.5), dict(method="adam", hidden=[32], gamma=0.9),
    dict(method="lm", inner=2, batch=300, hidden=[16, 16], activation="tanh"), dict(method="td-target"),
    dict(normalise="none", polyak=0, seed=5),
], ids=["default", "lambda", "gd", "adam", "lm", "td-target", "plain"])
def test_arrays_same_as_program(program, files, tmp_path, settings):
    settings = dict(batch=500) | settings
    words = [w for k, v in settings.items() for w in (
        "--" + k.rstrip("_").replace("_", "-"), ",".join(map(str, v)) if isinstance(v, list) else v)]
    tests = [] if "gamma" in settings else ["--testset", files / "test.safetensors"]  # of another discount
    theirs = program("evaluate", "--data", files / "data.safetensors", *tests, "--steps", 4, "--jobs", 1, "--out", "v",
                     *words, cwd=tmp_path)
    r = hvi.evaluate(**read(files / "data.safetensors"), testset=tests[1] if tests else None, steps=4, **settings)
    r.save(tmp_path / "mine.safetensors")
    assert (tmp_path / "mine.safetensors").read_bytes() == (tmp_path / "v.safetensors").read_bytes()
    theirs["network"].pop("file")
    only_theirs, only_mine = {"schema_version", "environment", "data", "policy", "closed_form"}, {"reason", "trace", "value"}
    assert set(theirs) - only_theirs == set(r.to_dict()) - only_mine and theirs["seconds"].keys() == r.seconds.keys()
    assert all(getattr(r, name) == theirs[name] for name in ("gamma", "status", "outer", "inner", "level"))
    for part in ("score", "bellman", "counts", "network", "settings"):
        assert (theirs[part] or {}).keys() - {"class_usual", "class_rare"} == (getattr(r, part) or {}).keys()
        for name, x in (theirs[part] or {}).items():
            mine = getattr(r, part).get(name)
            assert mine == x or (x is None and (mine is None or np.isnan(mine))), (part, name, mine, x)
    assert r.trace["outer"].tolist() == [0, 1, 2, 3, 4]
    loaded = hvi.load_value(tmp_path / "v.safetensors")
    x = read(files / "data.safetensors")["obs"][:50]
    assert np.allclose(loaded(x), r(x), rtol=1e-6) and loaded(x[0]) == loaded(x)[0]


def test_built_in_environment(program, files, tmp_path):
    theirs = program("evaluate", "lqr", "--policy", "default", "--steps", 3, "--batch", 200, "--test-states", 0, "--out",
                     "v", cwd=tmp_path)
    r = hvi.evaluate(env="lqr", policy="default", steps=3, batch=200, threads=2)
    r.save(tmp_path / "mine.safetensors")
    assert (tmp_path / "mine.safetensors").read_bytes() == (tmp_path / "v.safetensors").read_bytes()
    assert r.bellman.gap == theirs["bellman"]["gap"] and r.counts == theirs["counts"]


class Walk:
    """A random walk with Gymnasium's interface: reward 1 a step, until a step ends it with chance 1/5."""

    def reset(self, seed=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.x, self.t = np.zeros(1), 0
        return self.x, {}

    def step(self, action):
        self.x, self.t = np.clip(self.x + action, -1, 1), self.t + 1
        return self.x, 1.0, bool(self.rng.random() < 0.2), self.t >= 50, {}


class Older:
    """As Gym's environments were: reset returns the observation alone."""

    def reset(self, seed=None):
        return np.zeros(1)

    def step(self, action):
        return np.zeros(1), 0.0, False, {}


class Parts(Walk):
    """Its observations are dictionaries."""

    def reset(self, seed=None):
        return {"x": np.zeros(1)}, {}


class Pair(Older):
    """Two environments side by side."""

    num_envs, metadata = 2, {"autoreset_mode": "NEXT_STEP"}

    def reset(self, seed=None):
        return np.zeros((2, 1)), {}


def test_python_environment():
    rng = np.random.default_rng(3)
    r = hvi.evaluate(env=Walk(), policy=lambda obs: rng.uniform(-0.3, 0.3, 1), transitions=4000, steps=30, batch=1000,
                     hidden=[16], gamma=0.9)
    assert abs(r(np.zeros((1, 1)))[0] - 1 / (1 - 0.9 * 0.8)) < 0.4  # V = 1 + 0.72 V
    assert r.counts.env_steps == 4000


def arrays(n=200):
    rng = np.random.default_rng(1)
    return dict(obs=rng.normal(size=(n, 3)), reward=rng.normal(size=n), next_obs=rng.normal(size=(n, 3)),
                terminated=np.zeros(n, bool))


@pytest.mark.parametrize("change, line", [
    (dict(reward=np.zeros(7)), "the arrays"), (dict(next_obs=np.zeros((200, 4))), "next_obs"),
    (dict(obs=np.full((200, 3), np.nan)), "must be finite"), (dict(terminated=None), "no tensor 'terminated'"),
    (dict(reward=["a"] * 200), "'reward' has type"), (dict(gamma=1.5), "gamma: must be"),
    (dict(hiden=[3]), "evaluate: unknown argument 'hiden'; did you mean 'hidden'?"), (dict(method="auto"), "adamw"), (dict(method="nope"), "unknown method"),
    (dict(lambda_=0.5), "needs batch 0"), (dict(env="lqr"), "and not both"), (dict(testset=(np.zeros((3, 3)), np.zeros(2))), "a test set"),
    (dict(testset=(np.zeros((3, 3)), [1, np.nan, 2])), "finite numbers"), (dict(testset=3), "a test set is a file"),
    (dict(testset=(np.zeros((3, 3)), np.zeros(3), -1.0)), "standard errors of 0 or more"), (dict(testset={"obs": 1}), "a test set is"),
    (dict(policy=lambda obs: obs), "policy goes with env"), (dict(lambda_decay=0.5), "lambda_decay goes with an environment"),
    (dict(replay=10), "replay goes with an environment"), (dict(eta="best"), "eta: must be a number here"),
    (dict(obs=np.ma.masked_greater(np.arange(600.0).reshape(200, 3), 5)), "'obs' has masked entries"),
    (dict(threads=-1), "threads: must be"), (dict(gap=True, gap_rows=-1), "gap_rows: must be"), (dict(callback=3), "callback must be"),
], ids=range(24))
def test_bad_input(change, line):
    given = {k: v for k, v in (arrays() | change).items() if v is not None}
    with pytest.raises(hvi.Error, match=line):
        hvi.evaluate(steps=1, **given)


def test_other_bad_calls(tmp_path):
    with pytest.raises(hvi.ArgumentError, match="arrays"):
        hvi.evaluate()
    with pytest.raises(hvi.Error, match="policy must be a function"):
        hvi.evaluate(env=Walk())
    for given, line in ((dict(env=3, policy=abs), "Gymnasium's reset and step"), (dict(env=Older(), policy=abs), "older ones do not"),
                        (dict(env=Parts(), policy=abs), "FlattenObservation"), (dict(env=Pair(), policy=lambda obs: 0.0), "one for each of 2"),
                        (dict(env="lqr", policy=abs), "'default' or a file"), (dict(data=[1]), "not of type list"),
                        (dict(env="lqr", policy="default", batch=0), "batch 0"), (dict(env=Walk(), policy=abs, transitions=0), "from 1"),
                        (dict(env="lqr", policy="default", gap=True), "gap with data"), (dict(env="lqr", policy="default", steps=0), "from 1")):
        with pytest.raises(hvi.Error, match=line):
            hvi.evaluate(**given)
    with pytest.raises(hvi.Error, match="did you mean|unknown"):
        hvi.evaluate(env="lqrr", policy="default")
    with pytest.raises(OSError):
        hvi.load_value(tmp_path / "nothing.safetensors")
    r = hvi.evaluate(**arrays(), steps=1, inner=1)
    with pytest.raises(hvi.InputError, match="3 numbers each"):
        r(np.zeros((2, 4)))


def test_callback_and_test_set():
    rows, data = [], arrays()
    r = hvi.evaluate(**data, steps=6, inner=2, measure_every=1, callback=rows.append, testset=(data["obs"], data["reward"]))
    assert [row.outer for row in rows][-1] == 6 and r.score.states == 200 and r.trace["error"][-1] == r.score.error
    assert hvi.evaluate(**data, steps=50, inner=2, callback=lambda row: row.outer < 3).status == "stopped"
    with pytest.raises(KeyError):
        hvi.evaluate(**data, steps=6, callback=lambda row: {}["x"])


def test_a_value_is_kept_copied_and_saved(tmp_path):
    r = hvi.evaluate(**arrays(), steps=2, inner=1)
    x, at = arrays()["obs"][:9], tmp_path / "v.safetensors"
    before = r(x)
    r.value.theta[:] = np.nan  # a copy; another one cannot be put in its place
    with pytest.raises(AttributeError):
        r.value.theta = np.zeros(1)
    assert np.array_equal(r(x), before)
    for other in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r.value), copy.copy(r.value)):
        assert np.array_equal(other(x), before)
    at.write_text("mine")
    with pytest.raises(hvi.SystemFailure, match="hvi did not make it"):
        r.save(at)
    assert at.read_text() == "mine"
    r.save(at, force=True)
    r.save(os.fsencode(at))  # its own it replaces
    assert np.allclose(hvi.load_value(os.fsencode(at))(x), before, rtol=1e-6)


def test_ctrl_c():
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        hvi.evaluate(**arrays(), steps=10**8, inner=5)


def test_shows():
    r = hvi.evaluate(**arrays(), steps=2, inner=1)
    assert "bellman" in repr(r) and "<table" in r._repr_html_() and "3-64-64-1" in repr(r.value)
    assert "double_sampling" in hvi.evaluate.__doc__ and "normalise" in hvi.evaluate.__doc__
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert r.plot().lines
