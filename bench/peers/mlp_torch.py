"""Networks in PyTorch beside `hvi bench mlp`, in alternation.

usage: mlp_torch.py HVI [ROUNDS]

Both take the same inner step on a value network 27-256x..-1 in single precision on one core: loss,
gradients, update (SGD for gd, AdamW for adamw). PyTorch runs eagerly, with fused AdamW where it has
it. Prints microseconds a step and how many times faster hvi is, by the fastest of all rounds. Needs
torch.
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

IN, WIDTH, SHAPES, BATCHES = 27, 256, (2, 16), (256, 1000, 4096)


def network(hidden):
    layers = [nn.Linear(IN, WIDTH), nn.ReLU()]
    for _ in range(hidden - 1):
        layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 1))


def optimizer_of(name, parameters):
    if name == "gd":
        return torch.optim.SGD(parameters, lr=1e-5, foreach=True)
    return torch.optim.AdamW(parameters, lr=1e-5, fused=True)


class Work:
    def __init__(self, hidden, batch, name):
        torch.manual_seed(0)
        self.model = network(hidden)
        self.x, self.y = torch.randn(batch, IN), torch.randn(batch, 1)
        self.optimizer = optimizer_of(name, self.model.parameters())
        self.best = float("inf")

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = 0.5 * ((self.model(self.x) - self.y) ** 2).sum()
        loss.backward()
        self.optimizer.step()

    def measure(self):
        for _ in range(max(3, 10_000 // len(self.x))):
            start = time.thread_time()
            self.step()
            self.best = min(self.best, time.thread_time() - start)


def main():
    hvi, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    works = {(h, b, o): Work(h, b, o) for h in SHAPES for b in BATCHES for o in ("gd", "adamw")}
    ours = {key: float("inf") for key in works}
    for _ in range(rounds):
        for work in works.values():
            work.measure()
        out = subprocess.run([hvi, "bench", "mlp", "--json"], check=True, capture_output=True)
        for row in json.loads(out.stdout)["mlp"]:
            key = row["hidden_layers"], row["batch"], row["optimizer"]
            if key in ours:
                ours[key] = min(ours[key], row["step_seconds"])
    print(f"torch {torch.__version__}, one core, microseconds a step")
    print(f"{'layers':>6} {'batch':>6} {'optimizer':<9} {'hvi':>10} {'torch':>10} {'faster':>7}")
    for (hidden, batch, name), work in works.items():
        us = ours[hidden, batch, name]
        print(f"{hidden:>6} {batch:>6} {name:<9} {1e6 * us:>10.1f} {1e6 * work.best:>10.1f}"
              f" {work.best / us:>7.2f}")


main()
