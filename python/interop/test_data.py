"""Data that Minari, D4RL and Gymnasium write or read themselves, against the same arrays and against the program."""
import gymnasium as gym
import h5py
import minari
import numpy as np
import pytest
import safetensors.numpy

import hvi

SETTINGS = dict(steps=3, batch=200, hidden=[16], gamma=0.9)
WORDS = ("--steps", 3, "--batch", 200, "--hidden", "16", "--gamma", "0.9", "--jobs", 1, "--quiet", "--out", "v")


class Walk(gym.Env):
    """A walk that terminates beyond 1 and is truncated after 12 steps; its observation counts them."""

    observation_space = gym.spaces.Box(-100, 100, (2,), np.float64)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.x = 0, 0.0
        return self._seen(), {}

    def _seen(self):
        return np.array([self.x, self.t])

    def step(self, action):
        self.t, self.x = self.t + 1, self.x + float(action[0]) / 2
        return self._seen(), 1.0 - self.x, abs(self.x) > 1, self.t >= 12, {}


gym.register("HviWalk-v0", entry_point="test_data:Walk")


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """A data set that Minari's own DataCollector wrote, and its folder."""
    folder = tmp_path_factory.mktemp("minari")
    with pytest.MonkeyPatch.context() as m:
        m.setenv("MINARI_DATASETS_PATH", str(folder))
        env = minari.DataCollector(gym.make("HviWalk-v0"))
        rng = np.random.default_rng(1)
        env.reset(seed=1)
        for _ in range(500):
            _, _, terminated, truncated, _ = env.step(rng.uniform(-1, 1, 1).astype(np.float32))
            if terminated or truncated:
                env.reset()
        made = env.create_dataset(dataset_id="walk/random-v0", eval_env="HviWalk-v0", algorithm_name="random",
                                  code_permalink="none", author="nobody", author_email="nobody@example.org")
        env.close()
    return made, folder / "walk" / "random-v0"


def test_minari_as_minari_reads_it(walked):
    made, folder = walked
    data = hvi.data.from_minari(folder)
    episodes = list(made.iterate_episodes())
    assert data.notes["environment"] == "HviWalk-v0" and data.notes["dataset"] == "walk/random-v0"
    assert np.array_equal(data["obs"], np.concatenate([e.observations[:-1] for e in episodes]))
    assert np.array_equal(data["next_obs"], np.concatenate([e.observations[1:] for e in episodes]))
    for ours, theirs in (("action", "actions"), ("reward", "rewards"), ("terminated", "terminations")):
        assert np.array_equal(data[ours], np.concatenate([getattr(e, theirs) for e in episodes]))
    assert data["terminated"].sum() > 5 and data["truncated"].sum() > 5 and len(data["reward"]) == made.total_steps
    ends = np.cumsum([len(e.rewards) for e in episodes]) - 1
    assert (data["terminated"] | data["truncated"])[ends].all() and (data["terminated"] | data["truncated"]).sum() == len(ends)
    inside = ~(data["terminated"] | data["truncated"])[:-1]
    assert np.array_equal(data["next_obs"][:-1][inside], data["obs"][1:][inside])  # a row's successor follows it
    assert (data["next_obs"][:, 1] == data["obs"][:, 1] + 1).all()  # and nothing is of another episode


def test_minari_to_the_program(walked, command, program, tmp_path):
    data, out = hvi.data.from_minari(walked[1]), tmp_path / "walk.safetensors"
    done = command("convert", walked[1], out)
    assert done.returncode == 0 and "500 rows" in done.stderr, done.stderr
    assert np.array_equal(safetensors.numpy.load_file(out)["obs"], data["obs"].astype(np.float32))
    program("evaluate", "--data", out, *WORDS, cwd=tmp_path)
    for r in (hvi.evaluate(data=data, **SETTINGS), hvi.evaluate(**data, **SETTINGS), hvi.evaluate(data=out, **SETTINGS)):
        r.save(tmp_path / "mine.safetensors")
        assert (tmp_path / "mine.safetensors").read_bytes() == (tmp_path / "v.safetensors").read_bytes()


def test_minari_from_buffers(tmp_path, monkeypatch):
    """Dict observations, and an episode whose end nobody marked."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    space = gym.spaces.Dict(b=gym.spaces.Box(-9, 9, (1,)), a=gym.spaces.Box(-9, 9, (2,)))
    obs = dict(a=np.arange(8, dtype=np.float32).reshape(4, 2), b=-np.ones((4, 1), np.float32))
    buffer = minari.data_collector.EpisodeBuffer(
        id=0, observations=obs, actions=np.zeros((3, 1), np.float32), rewards=[1.0, 2.0, 3.0],
        terminations=[False] * 3, truncations=[False] * 3)
    minari.create_dataset_from_buffers("dict-v0", [buffer], observation_space=space,
                                       action_space=gym.spaces.Box(-1, 1, (1,)))
    data = hvi.data.from_minari(tmp_path / "dict-v0")
    flat = [gym.spaces.flatten(space, {k: v[i] for k, v in obs.items()}) for i in range(4)]
    assert np.array_equal(data["obs"], flat[:-1]) and np.array_equal(data["next_obs"], flat[1:])
    assert data["truncated"].tolist() == [False, False, True]


@pytest.fixture(scope="module")
def d4rl_file(tmp_path_factory):
    """A file in D4RL's layout, which D4RL's own reader takes below."""
    path, rng, n = tmp_path_factory.mktemp("d4rl") / "walk.hdf5", np.random.default_rng(2), 400
    terminals, timeouts = np.zeros(n, bool), np.zeros(n, bool)
    ends = np.cumsum(rng.integers(5, 20, 60))
    ends = ends[ends < n]
    terminals[ends[::2]], timeouts[ends[1::2]] = True, True
    with h5py.File(path, "w") as f:
        f["observations"], f["actions"] = rng.normal(size=(n, 3)).astype("f4"), rng.normal(size=(n, 2)).astype("f4")
        f["rewards"], f["terminals"], f["timeouts"] = rng.normal(size=n).astype("f4"), terminals, timeouts
        f["infos/qpos"] = np.zeros((n, 2))
        f["metadata/algorithm"] = np.bytes_("random")
    return path


def test_d4rl_as_d4rl_reads_it(d4rl_file, command, program, tmp_path):
    d4rl, old = pytest.importorskip("d4rl"), pytest.importorskip("gym")

    class Offline(d4rl.offline_env.OfflineEnv):
        observation_space, action_space = old.spaces.Box(-9, 9, (3,)), old.spaces.Box(-9, 9, (2,))

    raw = Offline().get_dataset(h5path=str(d4rl_file))  # refuses what has another layout
    theirs = d4rl.qlearning_dataset(None, dataset=raw)
    out = tmp_path / "d4rl.safetensors"
    done = command("convert", d4rl_file, out)
    assert done.returncode == 0 and "dropped" in done.stderr, done.stderr
    ours = hvi.data.load(out)
    n = len(theirs["rewards"])  # of the last row theirs takes no notice; ours keeps it where it is terminal
    assert len(ours["reward"]) - n == raw["terminals"][-1]
    ours = {k: v[:n] for k, v in ours.items()}
    alive = ~ours["terminated"]
    # theirs has what was observed after a reset in the place of a terminal row's successor, which nobody uses
    assert np.array_equal(ours["obs"], theirs["observations"]) and np.array_equal(ours["reward"], theirs["rewards"])
    assert np.array_equal(ours["next_obs"][alive], theirs["next_observations"][alive])
    assert np.array_equal(ours["terminated"], theirs["terminals"]) and np.array_equal(ours["action"], theirs["actions"])
    program("evaluate", "--data", out, *WORDS, cwd=tmp_path)
    hvi.evaluate(data=hvi.data.from_d4rl(d4rl_file), **SETTINGS).save(tmp_path / "mine.safetensors")
    assert (tmp_path / "mine.safetensors").read_bytes() == (tmp_path / "v.safetensors").read_bytes()


@pytest.mark.parametrize("kind, mode", [(gym.vector.SyncVectorEnv, "NEXT_STEP"), (gym.vector.SyncVectorEnv, "SAME_STEP"),
                                        (gym.vector.SyncVectorEnv, "DISABLED"), (gym.vector.AsyncVectorEnv, "NEXT_STEP"),
                                        (gym.vector.AsyncVectorEnv, "SAME_STEP")])
def test_vector_environments(kind, mode):
    env = kind([Walk] * 3, autoreset_mode=getattr(gym.vector.AutoresetMode, mode))
    rng = np.random.default_rng(4)
    data = hvi.collect(env, lambda obs: rng.uniform(-1, 1, (3, 1)).astype(np.float32), 600, seed=5)
    env.close()
    ended = data["terminated"] | data["truncated"]
    assert len(data["reward"]) == 600 and data["obs"].shape == (600, 2) and data["action"].shape == (600, 1)
    # each row is a step of one episode: the counter goes up by one, the state by half the action, the reward follows
    assert (data["next_obs"][:, 1] == data["obs"][:, 1] + 1).all()
    assert np.allclose(data["next_obs"][:, 0], data["obs"][:, 0] + data["action"][:, 0] / 2)
    assert np.allclose(data["reward"], 1 - data["next_obs"][:, 0])
    assert np.array_equal(data["terminated"], np.abs(data["next_obs"][:, 0]) > 1)
    inside = ~ended[:-1]
    assert np.array_equal(data["next_obs"][:-1][inside], data["obs"][1:][inside])
    assert (data["obs"][1:][~inside][:, 1] == 0).all()
    assert 1 <= (data["truncated"] & (data["next_obs"][:, 1] < 12)).sum() <= 3  # cut where another one follows
    r = hvi.evaluate(data=data, batch=0, lambda_=0.5, **{k: v for k, v in SETTINGS.items() if k != "batch"})
    assert np.isfinite(r(data["obs"][:5])).all()


def test_gymnasium_by_name():
    """Of Gymnasium's own environments, one alone and several side by side: the same numbers a row."""
    one = hvi.evaluate(env=gym.make("Pendulum-v1"), policy=lambda obs: np.zeros(1, np.float32), transitions=450, steps=2)
    env = gym.make_vec("Pendulum-v1", num_envs=2, vectorization_mode="sync")
    two = hvi.evaluate(env=env, policy=lambda obs: np.zeros((2, 1), np.float32), transitions=450, steps=2)
    assert one.network.inputs == two.network.inputs == 3 and two.counts.env_steps == 450
