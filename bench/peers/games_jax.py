"""Hidden matching pennies in JAX beside `hvi bench games`, in one run.

usage: games_jax.py HVI

Both take the same steps in double precision: one trajectory of 10,000 outer steps (jit, scan) and
1,000 random games at once (vmap), on one core. Prints nanoseconds per outer step (and game) and how
many times faster hvi is. Needs jax; `make bench-peers` makes a virtual environment for it.
"""
import json
import os
import subprocess
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

STEPS, GAMES, REPEATS = 10_000, 1_000, 5


def outputs(theta, a):
    return jax.nn.sigmoid(a[1] * jax.nn.celu(a[0] * theta))


def operator(z):
    centred = z - 0.5
    return jnp.stack([-4.0 * centred[1], 4.0 * centred[0]]) + 0.75 * centred


def inner_step(kind, rate, theta, a, target):
    residual = outputs(theta, a) - target
    jacobian = jax.jacfwd(outputs)(theta, a)
    if kind == "gd":
        return theta - rate * jacobian.T @ residual
    if kind == "gn":
        return theta - jnp.linalg.pinv(jacobian) @ residual
    normal = jacobian.T @ jacobian + rate * jnp.eye(2)
    return theta - jnp.linalg.solve(normal, jacobian.T @ residual)


def trajectory(kind, inner, eta, rate):
    def outer_step(carry, _):
        theta, a = carry
        z = outputs(theta, a)
        target = z - eta * operator(z)
        theta = jax.lax.fori_loop(
            0, inner, lambda _, t: inner_step(kind, rate, t, a, target), theta)
        return (theta, a), jnp.sum((z - 0.5) ** 2)

    return lambda theta, a: jax.lax.scan(outer_step, (theta, a), None, length=STEPS)[1]


def fastest(run, *arguments):
    run(*arguments).block_until_ready()
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        run(*arguments).block_until_ready()
        best = min(best, time.perf_counter() - start)
    return best * 1e9 / STEPS


def measure(kind, inner, eta, rate):
    one = jax.jit(trajectory(kind, inner, eta, rate))
    alone = fastest(one, jnp.array([1.25, 2.25]), jnp.array([[0.5, 0.7], [1.0, 1.0]]))
    keys = jax.random.split(jax.random.PRNGKey(0))
    theta = 4.0 * jax.random.normal(keys[0], (GAMES, 2))
    a = jax.random.uniform(keys[1], (GAMES, 2, 2), minval=-1.0, maxval=1.0)
    together = fastest(jax.jit(jax.vmap(trajectory(kind, inner, eta, rate))), theta, a) / GAMES
    return alone, together


METHODS = {"GDA": ("gd", 1, 0.1, 1.0), "GD(10)": ("gd", 10, 0.1, 1.0),
           "PHGD": ("gn", 1, 0.01, 0.0), "LM(1)": ("lm", 1, 0.1, 0.02)}


def main():
    reply = subprocess.run([sys.argv[1], "bench", "games", "--json", "-q"], check=True,
                           capture_output=True, text=True).stdout
    ours = {r["method"]: r for r in json.loads(reply)["games"] if r["game"] == "pennies"}
    print(f"{'':8} {'one trajectory, ns':>36} {'an ensemble, ns per game':>36}")
    print(f"{'method':8} {'jax':>12} {'hvi':>12} {'ratio':>10} {'jax':>14} {'hvi':>10} {'ratio':>10}")
    for name, setting in METHODS.items():
        alone, together = measure(*setting)
        row = ours[name]
        print(f"{name:8} {alone:12.1f} {row['trajectory_ns']:12.1f} "
              f"{alone / row['trajectory_ns']:10.1f} {together:14.2f} {row['lanes_ns']:10.2f} "
              f"{together / row['lanes_ns']:10.1f}", flush=True)


if __name__ == "__main__":
    main()
