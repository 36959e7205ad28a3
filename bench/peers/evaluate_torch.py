"""An outer step of policy evaluation in PyTorch beside `hvi bench evaluate`, in alternation.

usage: evaluate_torch.py HVI [ROUNDS]

Both take a batch of 1,000 transitions, work out the targets r + gamma V(s'), and then 50 steps of
AdamW on a value network with two hidden layers of 256 units, in single precision on one core.
PyTorch runs eagerly, with fused AdamW. Prints milliseconds an outer step and how many times faster
hvi is, by the fastest of all rounds. Needs torch.
"""
import json
import os
import subprocess
import sys
import time

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ["OMP_NUM_THREADS"] = "1"

import torch
from torch import nn

torch.set_num_threads(1)

BATCH, WIDTH, INNER, GAMMA = 1000, 256, 50, 0.99
SIZES = {"lqr": 4, "half_cheetah": 17, "ant": 27}


class Evaluation:
    def __init__(self, obs):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(obs, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(),
                                   nn.Linear(WIDTH, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.state, self.next = torch.randn(BATCH, obs), torch.randn(BATCH, obs)
        self.reward = torch.randn(BATCH, 1)
        self.best = float("inf")

    def outer_step(self):
        with torch.no_grad():
            target = self.reward + GAMMA * self.model(self.next)
        for _ in range(INNER):
            self.optimizer.zero_grad(set_to_none=True)
            loss = 0.5 * ((self.model(self.state) - target) ** 2).mean()
            loss.backward()
            self.optimizer.step()

    def measure(self):
        for _ in range(3):
            start = time.thread_time()
            self.outer_step()
            self.best = min(self.best, time.thread_time() - start)


def main():
    hvi, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    theirs = {env: Evaluation(obs) for env, obs in SIZES.items()}
    ours = {}
    for _ in range(rounds):
        for evaluation in theirs.values():
            evaluation.measure()
        out = subprocess.run([hvi, "bench", "evaluate", "--repeats", "5", "--json"], check=True, capture_output=True)
        for row in json.loads(out.stdout)["evaluate"]:
            ours[row["env"]] = min(ours.get(row["env"], float("inf")), row["step_seconds"])
    print(f"torch {torch.__version__}, one core, milliseconds an outer step, collection apart")
    print(f"{'environment':<13} {'hvi':>8} {'torch':>8} {'faster':>7}")
    for env, seconds in ours.items():
        best = theirs[env].best
        print(f"{env:<13} {1e3 * seconds:>8.1f} {1e3 * best:>8.1f} {best / seconds:>7.2f}")


main()
