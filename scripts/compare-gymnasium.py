#!/usr/bin/env python3
"""Compares `hvi env replay` step by step with Gymnasium's own environments.

Needs gymnasium[mujoco] and numpy from PyPI. Usage: compare-gymnasium.py HVI [STEPS]

Both start from the initial state without noise and are given the same actions. Gymnasium's MuJoCo
is newer than ours may be: up to 3.4 a contact's margin is the larger of the two geoms' margins, from
3.5 on their sum, so the margin of Ant's floor is set to 0 here, which gives the published physics
with either rule. Gymnasium sums the control cost in float32; the actions are rounded to float32 for
both, and rewards then agree to about 1e-7. With MuJoCo 2.3 the observations are the same bits.
"""
import pathlib
import subprocess
import sys
import tempfile

import gymnasium
import mujoco
import numpy as np

FIRST = 50
VERSIONS = {"half_cheetah": "HalfCheetah-v5", "ant": "Ant-v5", "ant-v5": "Ant-v5"}


def ours(hvi, name, actions, folder):
    """Rows of observation, reward, terminated from `hvi env replay`."""
    source, result = folder / "actions.npy", folder / "rows.npy"
    np.save(source, actions.astype(np.float64))
    command = [hvi, "env", "replay", name, "--actions", str(source), "--out", str(result), "-q"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return np.load(result)


def theirs(name, actions):
    """The same rows from Gymnasium; v4 is v5 with its two differences undone."""
    options = {}
    if name == "ant":
        options = {"include_cfrc_ext_in_observation": False, "contact_cost_weight": 0.0}
    env = gymnasium.make(VERSIONS[name], **options)
    env.reset(seed=0)
    inner = env.unwrapped
    inner.model.geom_margin[0] = 0.0
    mujoco.mj_resetData(inner.model, inner.data)
    inner.set_state(inner.init_qpos.copy(), inner.init_qvel.copy())
    rows = []
    for action in actions:
        obs, reward, terminated, _, _ = env.step(action.astype(np.float32))
        if name == "ant" and terminated:
            reward += 1.0  # v4 pays for health on the last step too
        rows.append(np.concatenate([obs, [reward, float(terminated)]]))
        if terminated:
            break
    return np.array(rows)


def sequences(width, steps):
    """Sine waves as in the tests, gentle ones that keep the ant alive, and random ones."""
    t = np.arange(steps)[:, None]
    i = np.arange(width)[None, :]
    waves = np.sin(0.1 * t + i)
    noise = np.random.default_rng(1).uniform(-1, 1, (steps, width))
    rounded = lambda a: a.astype(np.float32).astype(np.float64)
    return {"sine": rounded(waves), "gentle": rounded(0.1 * waves), "random": rounded(noise)}


def compare(hvi, name, label, actions, folder):
    """Prints the largest gaps over the first steps, which count, and over all, which chaos widens."""
    a, b = ours(hvi, name, actions, folder), theirs(name, actions)
    steps = min(len(a), len(b))
    gap = np.abs(a[:steps] - b[:steps])
    obs, reward = gap[:, :-2], gap[:, -2]
    print(f"{name:13} {label:7} first {FIRST}: observation {obs[:FIRST].max():.1e}, reward "
          f"{reward[:FIRST].max():.1e}   all {steps}: {obs.max():.1e}, {reward.max():.1e}")
    return obs[:FIRST].max() < 1e-6 and reward[:FIRST].max() < 2e-6


def main():
    hvi = str(pathlib.Path(sys.argv[1]).resolve())
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    print(f"gymnasium {gymnasium.__version__}, mujoco {mujoco.__version__}")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, width in (("half_cheetah", 6), ("ant", 8), ("ant-v5", 8)):
            for label, actions in sequences(width, steps).items():
                good &= compare(hvi, name, label, actions, pathlib.Path(folder))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
