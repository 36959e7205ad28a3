"""ONNX files, run by onnxruntime, against hvi's own numbers."""
import numpy as np
import onnx
import onnxruntime
import pytest

import hvi


def outputs(path, obs) -> np.ndarray:
    onnx.checker.check_model(onnx.load(path), full_check=True)
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"obs": obs})[0]


def data(n=300):
    rng = np.random.default_rng(1)
    return dict(obs=rng.normal(2, 3, size=(n, 3)), reward=rng.normal(50, 9, size=n), next_obs=rng.normal(2, 3, size=(n, 3)),
                terminated=rng.random(n) < 0.1)


@pytest.mark.parametrize("settings", [
    *[dict(activation=a) for a in ("relu", "tanh", "celu", "sigmoid", "gelu", "leaky_relu", "softplus", "identity")],
    dict(normalise="none"), dict(hidden=[8, 8, 8]), dict(hidden=None)], ids=str)
def test_value_networks(settings, tmp_path):
    r = hvi.evaluate(**data(), **(dict(steps=3, inner=20, hidden=[16, 16]) | settings))
    obs = np.random.default_rng(2).normal(2, 3, size=(500, 3)).astype(np.float32)
    hvi.onnx.export(r, tmp_path / "v.onnx")
    found, ours = outputs(tmp_path / "v.onnx", obs), r(obs)
    assert found.shape == (500,) and ours.std() > 0 and np.abs(found - ours).max() <= 1e-5 * np.abs(ours).max()
    r.save(tmp_path / "v.safetensors")
    hvi.onnx.export(tmp_path / "v.safetensors", tmp_path / "file.onnx")
    assert np.allclose(outputs(tmp_path / "file.onnx", obs), found, rtol=1e-6)
    assert outputs(tmp_path / "v.onnx", obs[:1]).shape == (1,)


@pytest.mark.parametrize("kind", ["sac", "td3", "ppo", "linear"])
def test_policies(kind, command, tmp_path):
    rng = np.random.default_rng(3)

    def layer(name, out, size):
        return {f"{name}.weight": rng.normal(size=(out, size)) / np.sqrt(size), f"{name}.bias": rng.normal(size=out) / 3}

    tensors = {"sac": layer("fc1", 32, 3) | layer("fc2", 16, 32) | layer("fc_mean", 2, 16) | layer("fc_logstd", 2, 16) | dict(
                   action_scale=np.array([2.0, 3.0]), action_bias=np.array([0.5, 0.0])),
               "td3": layer("fc1", 32, 3) | layer("fc_mu", 2, 32),
               "ppo": layer("actor_mean.0", 32, 3) | layer("actor_mean.2", 2, 32) | dict(
                   actor_logstd=np.zeros(2), action_scale=np.array([0.4, 0.3]), action_bias=np.array([0.1, 0.0])),
               "linear": dict(gain=rng.normal(size=(2, 3)), std=np.ones(2))}[kind]
    hvi.data.write(tmp_path / "p.safetensors", tensors, {}, hvi.policies.MARK)
    done = command("onnx", tmp_path / "p.safetensors", tmp_path / "p.onnx")
    assert done.returncode == 0 and "action [n][2]" in done.stderr, done.stderr
    obs = rng.normal(0, 2, size=(400, 3)).astype(np.float32)
    ours = hvi.load_policy(tmp_path / "p.safetensors")(obs)
    assert ours.std() > 0.1 and np.abs(outputs(tmp_path / "p.onnx", obs) - ours).max() <= 1e-5


def test_files_of_others_stay(command, tmp_path):
    hvi.evaluate(**data(), steps=1, inner=1).save(tmp_path / "v.safetensors")
    (tmp_path / "v.onnx").write_text("mine")
    done = command("onnx", tmp_path / "v.safetensors", tmp_path / "v.onnx")
    assert done.returncode == 5 and "--force" in done.stderr and (tmp_path / "v.onnx").read_text() == "mine"
    assert command("onnx", tmp_path / "v.safetensors", tmp_path / "v.onnx", "--force").returncode == 0
    assert command("onnx", tmp_path / "v.safetensors", tmp_path / "v.onnx").returncode == 0  # its own it replaces
    assert sorted(p.name for p in tmp_path.iterdir()) == ["v.onnx", "v.safetensors"]
