"""One update of soft actor-critic in PyTorch beside `hvi bench sac`, in alternation.

usage: sac_torch.py HVI [ROUNDS]

Both take the updates that belong to an environment step, in single precision on one core: batch 256,
hidden layers 256 and 256, twin critics, automatic entropy, the actor every second step with two
steps of its own, as CleanRL does it. PyTorch runs eagerly, with fused Adam. Prints milliseconds a
step and how many times faster hvi is, by the fastest of all rounds. Needs torch.
"""
import copy
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
from torch.nn import functional

torch.set_num_threads(1)

SIZES, BATCH, WIDTH, DELAY = {"half_cheetah": (17, 6), "ant": (27, 8)}, 256, 256, 2


def network(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(),
                         nn.Linear(WIDTH, outputs))


class Trainer:
    def __init__(self, obs, act):
        torch.manual_seed(0)
        self.act, self.best = act, float("inf")
        self.actor = network(obs, 2 * act)
        self.critics = [network(obs + act, 1) for _ in range(2)]
        self.targets = copy.deepcopy(self.critics)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        both = [p for q in self.critics for p in q.parameters()]
        self.critic_adam = torch.optim.Adam(both, lr=1e-3, fused=True)
        self.actor_adam = torch.optim.Adam(self.actor.parameters(), lr=3e-4, fused=True)
        self.alpha_adam = torch.optim.Adam([self.log_alpha], lr=1e-3)
        self.s, self.a, self.r, self.next, self.end = (
            torch.randn(BATCH, n) for n in (obs, act, 1, obs, 1))

    def sample(self, s):
        mean, h = self.actor(s).chunk(2, -1)
        log_std = -5 + 3.5 * (torch.tanh(h) + 1)
        normal = torch.distributions.Normal(mean, log_std.exp())
        u = normal.rsample()
        y = torch.tanh(u)
        log_prob = normal.log_prob(u) - torch.log(1 - y.pow(2) + 1e-6)
        return y, log_prob.sum(1, keepdim=True)

    def update_critics(self):
        with torch.no_grad():
            a, log_prob = self.sample(self.next)
            x = torch.cat([self.next, a], 1)
            least = torch.min(self.targets[0](x), self.targets[1](x))
            y = self.r + (1 - self.end) * 0.99 * (least - self.log_alpha.exp() * log_prob)
        x = torch.cat([self.s, self.a], 1)
        loss = sum(functional.mse_loss(q(x), y) for q in self.critics)
        self.critic_adam.zero_grad()
        loss.backward()
        self.critic_adam.step()

    def update_actor(self):
        for _ in range(DELAY):
            a, log_prob = self.sample(self.s)
            x = torch.cat([self.s, a], 1)
            least = torch.min(self.critics[0](x), self.critics[1](x))
            loss = (self.log_alpha.exp().detach() * log_prob - least).mean()
            self.actor_adam.zero_grad()
            loss.backward()
            self.actor_adam.step()
            with torch.no_grad():
                _, log_prob = self.sample(self.s)
            loss = (-self.log_alpha.exp() * (log_prob - self.act)).mean()
            self.alpha_adam.zero_grad()
            loss.backward()
            self.alpha_adam.step()

    def follow(self):
        with torch.no_grad():
            for q, target in zip(self.critics, self.targets):
                torch._foreach_lerp_(list(target.parameters()), list(q.parameters()), 0.005)

    def measure(self, seconds):
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            start = time.thread_time()
            for step in range(DELAY):
                self.update_critics()
                if step == 0:
                    self.update_actor()
                self.follow()
            self.best = min(self.best, (time.thread_time() - start) / DELAY)


def main():
    hvi, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    trainers = {name: Trainer(*sizes) for name, sizes in SIZES.items()}
    ours = dict.fromkeys(SIZES, float("inf"))
    for _ in range(rounds):
        for trainer in trainers.values():
            trainer.measure(3.0)
        out = subprocess.run([hvi, "bench", "sac", "--json"], check=True, capture_output=True)
        for row in json.loads(out.stdout)["sac"]:
            ours[row["env"]] = min(ours[row["env"]], row["update_seconds"])
    print(f"torch {torch.__version__}, one core, milliseconds an environment step")
    print(f"{'sizes of':<14} {'hvi':>8} {'torch':>8} {'faster':>7}")
    for name, trainer in trainers.items():
        print(f"{name:<14} {1e3 * ours[name]:>8.2f} {1e3 * trainer.best:>8.2f}"
              f" {trainer.best / ours[name]:>7.2f}")


main()
