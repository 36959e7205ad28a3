#!/usr/bin/env python3
"""Steps a second of Gymnasium's own environments, of one core: the marks on the cost of data in half-cheetah and ant.

Needs gymnasium[mujoco] from PyPI. Processor time, random actions, the fastest of three times 5,000 steps."""
import os
import tempfile
import time

import gymnasium
import mujoco
import numpy

STEPS = 5000

scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)  # MuJoCo writes its log into the current folder


def speed(name):
    env = gymnasium.make(name)
    rng = numpy.random.default_rng(1)
    env.reset(seed=1)
    best = 0.0
    for _ in range(3):
        start = time.process_time()
        for _ in range(STEPS):
            _, _, terminated, truncated, _ = env.step(rng.uniform(-1, 1, env.action_space.shape))
            if terminated or truncated:
                env.reset()
        best = max(best, STEPS / (time.process_time() - start))
    return best


print("gymnasium", gymnasium.__version__, "mujoco", mujoco.__version__)
for name in ("HalfCheetah-v4", "Ant-v4"):
    print(f"{name} {speed(name):.0f} steps a second")
