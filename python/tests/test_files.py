"""Data of others, policies, logs and `python -m hvi`: what needs no package from PyPI, and what bad files give."""
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import hvi
from hvi.__main__ import main


def arrays(n=60, **changed) -> dict:
    rng = np.random.default_rng(1)
    ends = np.arange(n) % 10 == 9
    return dict(obs=rng.normal(size=(n, 3)), action=rng.normal(size=(n, 1)), reward=rng.normal(size=n),
                next_obs=rng.normal(size=(n, 3)), terminated=ends & (np.arange(n) % 20 == 9), truncated=ends & (np.arange(n) % 20 == 19),
                **changed)


def test_saved_data_are_the_same_to_the_bit(tmp_path):
    data = arrays()
    hvi.data.save(tmp_path / "d.safetensors", data, environment="mine")
    back = hvi.data.load(tmp_path / "d.safetensors")
    assert back.notes["environment"] == "mine" and "60 rows" in repr(back)
    for k, x in data.items():
        assert np.array_equal(back[k], x.astype(np.float32) if x.dtype == float else x)
    one, two = (hvi.evaluate(data=d, steps=2, inner=3) for d in (data, tmp_path / "d.safetensors"))
    assert np.array_equal(one.value.theta, two.value.theta)


def test_files_of_others_stay(tmp_path):
    at = tmp_path / "d.safetensors"
    at.write_text("mine")
    with pytest.raises(hvi.SystemFailure, match="--force replaces it"):
        hvi.data.save(at, arrays())
    assert at.read_text() == "mine"
    hvi.data.save(at, arrays(), force=True)
    hvi.data.save(at, arrays())  # its own it replaces
    with pytest.raises(hvi.InputError, match="finite"):
        hvi.data.save(tmp_path / "n.safetensors", arrays() | dict(reward=np.full(60, np.nan)))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.safetensors"]


def minari(path, episodes=((5, 0), (7, 1))):
    """A file in Minari's layout: steps of each episode, and how it ends (0: terminated, 1: truncated, 2: not said)."""
    h5py = pytest.importorskip("h5py")
    (path / "data").mkdir(parents=True)
    with h5py.File(path / "data" / "main_data.hdf5", "w") as f:
        for i, (steps, end) in enumerate(episodes):
            g = f.create_group(f"episode_{i}")
            g["observations"] = 100.0 * i + np.arange(steps + 1)[:, None] * [1.0, 0.5]
            g["actions"], g["rewards"] = np.zeros((steps, 1), "f4"), np.ones(steps)
            for name, kind in (("terminations", 0), ("truncations", 1)):
                g[name] = (np.arange(steps) == steps - 1) & (end == kind)
    return path


def test_minari(tmp_path):
    at = minari(tmp_path / "m", ((5, 0), (7, 1), (4, 2)))
    for source in (at, at / "data", at / "data" / "main_data.hdf5"):
        d = hvi.data.from_minari(source)
    assert (d["next_obs"][:, 0] == d["obs"][:, 0] + 1).all()  # also at the ends
    assert np.flatnonzero(d["terminated"]).tolist() == [4] and np.flatnonzero(d["truncated"]).tolist() == [11, 15]
    assert main(["convert", str(at), str(tmp_path / "o.safetensors"), "-q"]) == 0
    assert np.array_equal(hvi.data.load(tmp_path / "o.safetensors")["obs"], d["obs"])


def test_d4rl(tmp_path):
    h5py = pytest.importorskip("h5py")
    d = arrays()
    with h5py.File(tmp_path / "d.hdf5", "w") as f:
        for ours, theirs in hvi.data.D4RL.items():
            if ours != "next_obs":
                f[theirs] = d[ours]
    assert main(["convert", str(tmp_path / "d.hdf5"), str(tmp_path / "o.safetensors"), "-q"]) == 0
    back = hvi.data.load(tmp_path / "o.safetensors")
    rows = ~d["truncated"]  # those have no successor
    assert np.array_equal(back["obs"], d["obs"][rows].astype(np.float32))
    before = np.flatnonzero(d["truncated"]) - 1  # whose successors are gone: now the episode is cut there
    assert np.array_equal(np.flatnonzero(rows)[back["truncated"]], before)
    inside = np.flatnonzero(rows & ~d["terminated"])
    keep = ~back["terminated"]
    assert np.array_equal(back["next_obs"][keep], d["obs"][inside + 1].astype(np.float32))


@pytest.mark.parametrize("change, line", [
    (lambda g: g.__delitem__("rewards"), "has no 'rewards'"),
    (lambda g: (g.__delitem__("observations"), g.__setitem__("observations", np.zeros((5, 2)))), "5 observations for 5 steps"),
    (lambda g: (g.__delitem__("truncations"), g.__setitem__("truncations", np.zeros(3, bool))), "3 rows of 'truncated'"),
    (lambda g: (g.__delitem__("observations"), g.__setitem__("observations", [b"a"] * 6)), "must be numbers"),
    (lambda g: (g.__delitem__("observations"), g.__setitem__("observations", np.full((6, 2), np.nan))), "finite"),
])
def test_bad_minari(change, line, tmp_path, capsys):
    h5py = pytest.importorskip("h5py")
    at = minari(tmp_path / "m", ((5, 0),))
    with h5py.File(at / "data" / "main_data.hdf5", "a") as f:
        change(f["episode_0"])
    assert main(["convert", str(at), str(tmp_path / "o.safetensors")]) == 3
    said = capsys.readouterr().err
    assert line in said and said.count("\n") == 1 and said.startswith("hvi: ") and not (tmp_path / "o.safetensors").exists()


def test_bad_files(tmp_path, capsys):
    def gives(code, line, *words):
        try:
            found = main([str(w) for w in words])
        except SystemExit as e:
            found = e.code
        said = capsys.readouterr().err
        assert found == code and line in said and said.count("\n") == 1, (found, said)

    out, text = tmp_path / "o.safetensors", tmp_path / "text"
    text.write_text("no model")
    gives(2, "COMMAND", )
    gives(2, "invalid choice", "nothing")
    gives(2, "OUT must end in .safetensors", "convert", text, tmp_path / "o")
    gives(5, "cannot open", "convert", tmp_path / "missing", out)
    gives(3, "no checkpoint", "convert", text, out)
    gives(5, "cannot open", "tensorboard", tmp_path / "missing.jsonl", tmp_path / "tb")
    text.write_text('{"outer": 1}\n[2]\n')
    gives(3, "line 2 is no JSON object", "tensorboard", text, tmp_path / "tb")
    (tmp_path / "half.hdf5").write_bytes(b"\x89HDF\r\n\x1a\n and no more")
    if importlib.util.find_spec("h5py"):
        gives(5, "cannot read", "convert", tmp_path / "half.hdf5", out)
        gives(3, "no data/main_data.hdf5", "convert", tmp_path, out)
        gives(2, "goes with policies", "convert", minari(tmp_path / "m"), out, "--deterministic")
    else:
        gives(5, "pip install h5py", "convert", tmp_path / "half.hdf5", out)
    if not importlib.util.find_spec("torch"):
        gives(5, "pip install torch", "convert", text, out, "--from", "cleanrl")
    if not importlib.util.find_spec("onnx"):
        hvi.evaluate(data=arrays(), steps=1, inner=1).save(tmp_path / "v.safetensors")
        gives(5, "pip install onnx", "onnx", tmp_path / "v.safetensors", tmp_path / "v.onnx")
    if not importlib.util.find_spec("tensorboard"):
        text.write_text('{"outer": 1, "loss": 2}\n')
        gives(5, "pip install tensorboard", "tensorboard", text, tmp_path / "tb")
    assert not out.exists() and not (tmp_path / "tb").exists()


def test_log_lines_that_are_not_whole(tmp_path):
    log = tmp_path / "run.jsonl"
    log.write_text('{"outer": 0, "loss": null, "residual": 0.5, "status": "running"}\n{"outer": 1, "resid')
    rows, at = hvi.tensorboard.read_log(log)
    assert [hvi.tensorboard.scalars(r) for r in rows] == [{"residual": 0.5}]
    with open(log, "a") as f:
        f.write('ual": 0.25}\n')
    assert hvi.tensorboard.read_log(log, at)[0] == [{"outer": 1, "residual": 0.25}]


def test_help_has_examples():
    for words in ([], ["convert"], ["tensorboard"], ["onnx"]):
        done = subprocess.run([sys.executable, "-m", "hvi", *words, "--help"], capture_output=True, text=True)
        assert done.returncode == 0 and "examples:" in done.stdout and "python -m hvi" in done.stdout


def policy_file(path, **more):
    rng = np.random.default_rng(3)
    tensors = {"fc1.weight": rng.normal(size=(8, 3)), "fc1.bias": rng.normal(size=8), "fc_mu.weight": rng.normal(size=(2, 8)),
               "fc_mu.bias": rng.normal(size=2), "action_scale": np.array([2.0, 1.0]), "action_bias": np.array([0.5, 0.0])}
    hvi.data.write(path, tensors, more, hvi.policies.MARK)
    return tensors


def test_policy(tmp_path):
    t = policy_file(tmp_path / "p.safetensors")
    p, x = hvi.load_policy(tmp_path / "p.safetensors"), np.random.default_rng(4).normal(size=(600, 3))
    h = np.maximum(x @ t["fc1.weight"].T + t["fc1.bias"], 0)
    mean = np.tanh(h @ t["fc_mu.weight"].T + t["fc_mu.bias"]) * t["action_scale"] + t["action_bias"]
    assert np.allclose(p(x), mean, atol=2e-5) and np.allclose(p(x[0]), mean[0], atol=2e-5) and p(x[:0]).shape == (0, 2)
    assert np.array_equal(p.sample(x), p(x)) and "TD3" in repr(p) and (p.obs, p.act) == (3, 2)
    with pytest.raises(hvi.InputError, match="3 numbers each"):
        p(np.zeros((2, 4)))
    with pytest.raises(hvi.InputError, match="squash"):
        hvi.load_policy(tmp_path / "p.safetensors", squash="box")
    with pytest.raises(hvi.InputError, match="action_range"):
        policy_file(tmp_path / "q.safetensors", action_range="nowhere")
        hvi.load_policy(tmp_path / "q.safetensors")


def test_range_of_the_file(program, tmp_path):
    """A note action_range keeps what a squashed actor's file says, where its layout would take the environment's."""
    rng = np.random.default_rng(5)
    tensors = {f"{k}.{part}": rng.normal(size=s) for k, shapes in dict(
        latent_pi=((4, 3), 4), mu=((1, 4), 1), log_std=((1, 4), 1)).items() for part, s in zip(("weight", "bias"), shapes)}
    tensors = {k.replace("latent_pi", "latent_pi.0"): x for k, x in tensors.items()}
    tensors.update(action_scale=np.array([0.5]), action_bias=np.array([0.25]))
    x = rng.normal(size=(20, 3))
    np.save(tmp_path / "obs.npy", x)

    def acts(**notes):
        hvi.data.write(tmp_path / "p.safetensors", tensors, notes, hvi.policies.MARK, force=True)
        done = subprocess.run([os.environ["HVI_PROGRAM"], "policy", "act", "pendulum", "--policy", "p.safetensors", "--obs",
                               "obs.npy", "-q"], cwd=tmp_path, capture_output=True, text=True, check=True)
        return np.array(done.stdout.split(), float)

    file, env = acts(action_range="file"), acts()
    assert np.allclose(file, 0.25 + 0.25 * env, atol=1e-6) and np.abs(env).max() > 1  # pendulum's range is [-2, 2]
    assert np.allclose(hvi.load_policy(tmp_path / "p.safetensors")(x)[:, 0], file, atol=1e-6)


class Pair:
    """Two counters side by side, reset in the step after an end, as Gymnasium's vector environments are by default."""

    num_envs, metadata = 2, {"autoreset_mode": "AutoresetMode.NEXT_STEP"}

    def reset(self, seed=None, options=None):
        self.t, self.over = np.zeros(2), np.zeros(2, bool)
        return self.t[:, None].copy(), {}

    def step(self, action):
        self.t = np.where(self.over, 0, self.t + 1)
        reward, fresh = np.where(self.over, 0, self.t), self.over
        terminated, truncated = (self.t == [3, 99]) & ~fresh, (self.t == [99, 5]) & ~fresh
        self.over = terminated | truncated
        return self.t[:, None].copy(), reward, terminated, truncated, {}


def test_vector_environment():
    d = hvi.collect(Pair(), lambda obs: -obs, 20)
    assert (d["next_obs"] == d["obs"] + 1).all() and np.array_equal(d["reward"], d["next_obs"][:, 0])
    assert np.array_equal(d["action"], -d["obs"]) and len(d["reward"]) == 20
    assert (d["next_obs"][d["terminated"]] == 3).all() and d["terminated"].sum() >= 2
    ended = d["terminated"] | d["truncated"]
    assert (d["obs"][1:][ended[:-1]] == 0).all() and np.array_equal(d["next_obs"][:-1][~ended[:-1]], d["obs"][1:][~ended[:-1]])
    assert hvi.evaluate(env=Pair(), policy=lambda obs: -obs, transitions=50, steps=1, inner=1).counts.env_steps == 50


def test_ctrl_c_in_inspect():
    """A built-in problem, with steps so small that its run would last for minutes."""
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        hvi.inspect("rps", method="gd", inner=50, eta=1e-9, steps=10**7, rounding=False, stall_window=0)
    assert time.monotonic() - start < 20
    assert hvi.inspect("pennies").verdict


def test_modules_have_docstrings():
    for module in (hvi.data, hvi.onnx, hvi.policies, hvi.tensorboard):
        assert module.__doc__
        for name, thing in vars(module).items():
            if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__:
                assert thing.__doc__, f"{module.__name__}.{name}"
                for member, inner in vars(thing).items() if isinstance(thing, type) else ():
                    assert member.startswith("_") or not callable(inner) or inner.__doc__, f"{name}.{member}"
