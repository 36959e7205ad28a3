"""Checkpoints that Stable-Baselines3, CleanRL and d3rlpy write: converted, they act as the package does."""
import importlib
import json
import types

import gymnasium as gym
import numpy as np
import pytest
import torch

import hvi

torch.set_num_threads(1)
TIGHT = dict(rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def states():
    rng = np.random.default_rng(7)
    angle = rng.uniform(-np.pi, np.pi, 300)
    return np.stack([np.cos(angle), np.sin(angle), rng.uniform(-8, 8, 300)], 1).astype(np.float32)


def actions(program, path, states, tmp_path):
    """What the program does, in an environment of the same range."""
    np.save(tmp_path / "obs.npy", states)
    said = program("policy", "act", "pendulum", "--policy", path, "--obs", tmp_path / "obs.npy", "-q")
    return np.array(said.split(), float).reshape(len(states), -1)


@pytest.mark.parametrize("name, extra", [
    ("SAC", {}), ("TD3", {}), ("DDPG", {}), ("PPO", {}), ("A2C", {}),
    ("SAC", dict(policy_kwargs=dict(net_arch=[32, 16], activation_fn=torch.nn.Tanh))),
    ("PPO", dict(policy_kwargs=dict(activation_fn=torch.nn.ELU, log_std_init=-1.0))),
])
def test_stable_baselines3(name, extra, command, program, states, tmp_path):
    model = getattr(importlib.import_module("stable_baselines3"), name)("MlpPolicy", "Pendulum-v1", seed=3, device="cpu", **extra)
    torch.manual_seed(5)
    for p in model.policy.parameters():  # as if trained: away from a first draw with tiny heads
        torch.nn.init.normal_(p, std=0.15)
    model.save(tmp_path / "model.zip")
    done = command("convert", tmp_path / "model.zip", tmp_path / "ours.safetensors")
    assert done.returncode == 0, done.stderr
    theirs = model.predict(states, deterministic=True)[0]
    assert theirs.std() > 0.1
    ours = hvi.load_policy(tmp_path / "ours.safetensors")
    assert np.allclose(ours(states), theirs, **TIGHT) and np.allclose(ours(states[0]), theirs[0], **TIGHT)
    assert np.allclose(actions(program, tmp_path / "ours.safetensors", states, tmp_path), theirs, **TIGHT)
    if name in ("SAC", "PPO"):  # their noise too: the spread of many draws
        seen = np.repeat(states[:1], 4000, 0)
        torch.manual_seed(1)
        spread, theirs = np.std(ours.sample(seen)), np.std(model.predict(seen)[0])
        assert abs(spread - theirs) < 0.08 * theirs and theirs > 0.1


def test_stable_baselines3_trained(program, command, tmp_path):
    """A model after its own learning, whose converted policy earns in the program what it earns there."""
    from stable_baselines3 import SAC

    model = SAC("MlpPolicy", "Pendulum-v1", seed=1, device="cpu", learning_starts=100, policy_kwargs=dict(net_arch=[32, 32]))
    model.learn(1500)
    model.save(tmp_path / "sac.zip")
    assert command("convert", tmp_path / "sac.zip", tmp_path / "sac.safetensors").returncode == 0
    states = np.array([model.env.reset()[0] for _ in range(50)])
    assert np.allclose(hvi.load_policy(tmp_path / "sac.safetensors")(states), model.predict(states, deterministic=True)[0], **TIGHT)
    from stable_baselines3.common.evaluation import evaluate_policy

    theirs = np.array(evaluate_policy(model, gym.make("Pendulum-v1"), 60, deterministic=False, return_episode_rewards=True)[0])
    ours = json.loads(program("policy", "score", "pendulum", "--policy", tmp_path / "sac.safetensors", "--episodes", 60, "--json", "-q"))
    assert abs(ours["mean"] - theirs.mean()) < 4 * np.hypot(ours["sd"], theirs.std()) / np.sqrt(60)


@pytest.mark.parametrize("extra, line", [
    (dict(algorithm="PPO", env="CartPole-v1"), "discrete actions"), (dict(algorithm="DQN", env="CartPole-v1"), "DQN"),
    (dict(algorithm="SAC", env="Pendulum-v1", use_sde=True), "gSDE"),
    (dict(algorithm="SAC", env="Pendulum-v1", policy_kwargs=dict(activation_fn=torch.nn.Mish)), "Mish"),
])
def test_stable_baselines3_refused(extra, line, command, tmp_path):
    model = getattr(importlib.import_module("stable_baselines3"), extra.pop("algorithm"))("MlpPolicy", device="cpu", **extra)
    model.save(tmp_path / "model.zip")
    done = command("convert", tmp_path / "model.zip", tmp_path / "ours.safetensors")
    last = done.stderr.splitlines()[-1]  # before it is what gym says whenever somebody imports it
    assert done.returncode == 3 and line in last and last.startswith("hvi: '") and "model.zip" in last, done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.zip"]  # nothing is left behind


def cleanrl_classes(script: str, name: str):
    """The class as CleanRL's script has it. The script is run up to its main part, without what that alone needs."""
    spec = importlib.util.find_spec("cleanrl")
    if spec is None:
        pytest.skip("cleanrl is not installed")
    source = open(f"{list(spec.submodule_search_locations)[0]}/{script}.py").read()
    lines = [x for x in source.split('if __name__ == "__main__"')[0].splitlines()
             if not x.startswith(("import gym", "from stable_baselines3", "from torch.utils", "from distutils"))]
    module = types.ModuleType(script)
    module.gym = gym
    exec(compile("\n".join(lines), script, "exec"), module.__dict__)
    return getattr(module, name)


@pytest.mark.parametrize("script, name, saved", [
    ("sac_continuous_action", "Actor", "state"), ("td3_continuous_action", "Actor", "tuple"),
    ("ddpg_continuous_action", "Actor", "state"), ("ppo_continuous_action", "Agent", "state")])
@pytest.mark.parametrize("count", [1, 2])
def test_cleanrl(script, name, saved, count, command, program, states, tmp_path):
    envs = gym.vector.SyncVectorEnv([lambda: gym.make("Pendulum-v1")] * count)
    actor = cleanrl_classes(script, name)(envs)
    torch.manual_seed(6)
    for p in actor.parameters():
        torch.nn.init.normal_(p, std=0.2)
    state = actor.state_dict()
    torch.save((state, {"fc1.weight": torch.zeros(1)}) if saved == "tuple" else state, tmp_path / "run.cleanrl_model")
    done = command("convert", tmp_path / "run.cleanrl_model", tmp_path / "ours.safetensors")
    assert done.returncode == 0, done.stderr
    x = torch.from_numpy(states)
    with torch.no_grad():  # a row for each environment, where there are several
        if name == "Agent":
            theirs = actor.actor_mean(x).clamp(-2, 2)
        elif "sac" in script:
            theirs = torch.cat([actor.get_action(x[i:i + count])[2] for i in range(0, 300, count)])
        else:
            theirs = torch.cat([actor(x[i:i + count]) for i in range(0, 300, count)])
    assert theirs.std() > 0.1
    assert np.allclose(actions(program, tmp_path / "ours.safetensors", states, tmp_path), theirs, **TIGHT)
    if name == "Actor":  # the range is in the file
        assert np.allclose(hvi.load_policy(tmp_path / "ours.safetensors")(states), theirs, **TIGHT)


def made(name: str, **extra):
    d3rlpy = pytest.importorskip("d3rlpy")
    algo = getattr(d3rlpy.algos, f"{name}Config")(**extra).create(device="cpu")
    algo.create_impl((3,), 1)
    torch.manual_seed(7)
    for p in algo.impl.policy.parameters():
        torch.nn.init.normal_(p, std=0.3)
    return algo


@pytest.mark.parametrize("name, words", [("SAC", ()), ("CQL", ()), ("TD3", ()), ("DDPG", ()), ("TD3PlusBC", ()),
                                         ("BC", ()), ("IQL", ("--deterministic",)), ("AWAC", ("--deterministic",))])
def test_d3rlpy(name, words, command, states, tmp_path):
    algo = made(name)
    algo.save(str(tmp_path / "model.d3"))
    done = command("convert", tmp_path / "model.d3", tmp_path / "ours.safetensors", *words)
    assert done.returncode == 0, done.stderr
    theirs = algo.predict(states)
    assert np.allclose(hvi.load_policy(tmp_path / "ours.safetensors")(states), theirs, **TIGHT) and theirs.std() > 0.1


def test_d3rlpy_scalers(command, program, states, tmp_path):
    d3rlpy = pytest.importorskip("d3rlpy")
    scalers = d3rlpy.preprocessing
    for i, observation in enumerate((scalers.StandardObservationScaler(mean=np.array([0.1, -0.2, 1]), std=np.array([0.5, 0.7, 4])),
                                     scalers.MinMaxObservationScaler(minimum=np.array([-1, -1, -8]), maximum=np.array([1, 1, 9])))):
        factory = d3rlpy.models.encoders.VectorEncoderFactory([24, 24], activation="tanh")
        algo = made("SAC", observation_scaler=observation, actor_encoder_factory=factory,
                    action_scaler=scalers.MinMaxActionScaler(minimum=np.array([-2.0]), maximum=np.array([2.0])))
        algo.save(str(tmp_path / f"{i}.d3"))
        out = tmp_path / f"{i}.safetensors"
        done = command("convert", tmp_path / f"{i}.d3", out)
        assert done.returncode == 0, done.stderr
        theirs = algo.predict(states)
        assert np.allclose(hvi.load_policy(out)(states), theirs, **TIGHT)
        assert np.allclose(actions(program, out, states, tmp_path), theirs, **TIGHT)


def test_d3rlpy_parameters_alone(command, states, tmp_path):
    algo = made("SAC")
    algo.save_model(str(tmp_path / "model.pt"))
    done = command("convert", tmp_path / "model.pt", tmp_path / "ours.safetensors")
    assert done.returncode == 0, done.stderr
    assert np.allclose(hvi.load_policy(tmp_path / "ours.safetensors")(states), algo.predict(states), **TIGHT)


def test_d3rlpy_refused(command, tmp_path):
    made("IQL").save(str(tmp_path / "iql.d3"))
    done = command("convert", tmp_path / "iql.d3", tmp_path / "o.safetensors")
    assert done.returncode == 3 and "--deterministic" in done.stderr and not (tmp_path / "o.safetensors").exists()
    d3rlpy = pytest.importorskip("d3rlpy")
    made("SAC", actor_encoder_factory=d3rlpy.models.encoders.VectorEncoderFactory([8], use_layer_norm=True)).save(
        str(tmp_path / "norm.d3"))
    done = command("convert", tmp_path / "norm.d3", tmp_path / "o.safetensors")
    assert done.returncode == 3 and "LayerNorm" in done.stderr
