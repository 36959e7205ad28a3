#!/usr/bin/env python3
"""Actors of Stable-Baselines3 and actors with CleanRL's names, as their owners act.

Writes policies/NAME.safetensors, the state of an actor, and policies/NAME.csv: a row for each
observation, of the observation, the action without noise and the standard deviations where there
are any. test_policy_golden.c compares. Made with stable-baselines3 2.9.2, torch 2.15, gymnasium 1.4:

    pip install stable-baselines3 safetensors && python3 policies.py
"""
import os

import gymnasium as gym
import numpy as np
import torch
from safetensors.torch import save_file
from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3
from torch import nn

OBS, ACT, LOW, HIGH = 4, 2, -1.5, 2.5
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "policies")


class Box(gym.Env):
    observation_space = gym.spaces.Box(-10, 10, (OBS,), np.float32)
    action_space = gym.spaces.Box(LOW, HIGH, (ACT,), np.float32)


def stir(module):
    """Away from the first weights, so that tanh bends and clipping clips."""
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.randn_like(p) * (0.9 if p.dim() > 1 else 0.5))


def keep(name, state, obs, action, std=None):
    save_file({k: v.contiguous().clone() for k, v in state.items()}, f"{here}/{name}.safetensors")
    columns = [obs, action] + ([] if std is None else [std])
    np.savetxt(f"{here}/{name}.csv", np.hstack(columns), fmt="%.9g", delimiter=",")


def actor_only(state):
    return {k: v for k, v in state.items() if not k.startswith(("critic", "actor_target")) and "value" not in k}


os.makedirs(here, exist_ok=True)
torch.manual_seed(7)
obs = np.random.default_rng(7).normal(size=(12, OBS)).astype(np.float32)
x = torch.from_numpy(obs)

for name, kind in dict(sac=SAC, td3=TD3, ddpg=DDPG, ppo=PPO, a2c=A2C).items():
    model = kind("MlpPolicy", Box(), policy_kwargs=dict(net_arch=[6, 5]), device="cpu")
    stir(model.policy)
    std = None
    with torch.no_grad():
        if name == "sac":
            std = model.actor.get_action_dist_params(x)[1].exp().numpy()
        if name in ("ppo", "a2c"):
            std = model.policy.get_distribution(x).distribution.stddev.numpy()
    keep(f"sb3-{name}", actor_only(model.policy.state_dict()), obs, model.predict(obs, deterministic=True)[0], std)


class CleanTD3(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc_mu = nn.Linear(OBS, 6), nn.Linear(6, 5), nn.Linear(5, ACT)
        self.register_buffer("action_scale", torch.full((ACT,), (HIGH - LOW) / 2))
        self.register_buffer("action_bias", torch.full((ACT,), (HIGH + LOW) / 2))

    def forward(self, s):
        h = torch.relu(self.fc2(torch.relu(self.fc1(s))))
        return torch.tanh(self.fc_mu(h)) * self.action_scale + self.action_bias


class CleanPPO(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor_mean = nn.Sequential(nn.Linear(OBS, 6), nn.Tanh(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, ACT))
        self.actor_logstd = nn.Parameter(torch.zeros(1, ACT))

    def forward(self, s):
        return self.actor_mean(s).clip(LOW, HIGH)


with torch.no_grad():
    for name, model in dict([("cleanrl-td3", CleanTD3()), ("cleanrl-ppo", CleanPPO())]).items():
        stir(model)
        std = np.tile(model.actor_logstd.exp().numpy(), (len(obs), 1)) if name == "cleanrl-ppo" else None
        keep(name, model.state_dict(), obs, model(x).numpy(), std)
    plain = nn.Sequential(nn.Linear(OBS, 6), nn.GELU(), nn.Linear(6, ACT))
    stir(plain)
    keep("sequential", plain.state_dict(), obs, plain(x).clip(LOW, HIGH).numpy())


class Discrete(Box):
    action_space = gym.spaces.Discrete(3)


# What is refused by its names: exploration by gSDE, and discrete actions.
for name, kind, env, options in (
    ("sac-gsde", SAC, Box, dict(use_sde=True)),
    ("ppo-gsde", PPO, Box, dict(use_sde=True)),
    ("ppo-discrete", PPO, Discrete, {}),
    ("dqn", DQN, Discrete, {}),
):
    model = kind("MlpPolicy", env(), policy_kwargs=dict(net_arch=[6, 5]), device="cpu", **options)
    state = {k: v.contiguous().clone() for k, v in actor_only(model.policy.state_dict()).items()}
    save_file(state, f"{here}/refused-{name}.safetensors")
