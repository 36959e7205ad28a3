#!/usr/bin/env python3
"""Policy evaluation on small fixed processes, by SciPy. Writes bellman.csv beside itself.

Each line is: case, name, rows, columns, then the numbers row by row. The tests read that file;
neither building nor testing needs this script, NumPy or SciPy.
"""
import pathlib

import numpy as np
import scipy.linalg

STEPS = 5


def process(case, n, d, gamma, keep):
    """Entries from a formula, so that nothing depends on a generator of random numbers."""
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    P = 1 + np.sin(1.0 + case + 3 * i + 2 * j * j + i * j)
    P[(i + 2 * j + case) % 5 >= keep] = 0
    P[i == (j + 1) % n] += 0.5  # a ring: every state is reached from every other
    P /= P.sum(axis=1, keepdims=True)
    r = np.cos(np.arange(n) * (case + 1.0)) + 0.25
    x = np.linspace(-1, 1, n)
    phi = np.stack([np.cos(k * np.arccos(x)) + 0.1 * np.sin(5 * x + k) for k in range(d)], axis=1)
    return P, r, phi, gamma


def solve(P, r, phi, gamma):
    n = len(r)
    w, left = scipy.linalg.eig(P, left=True, right=False)
    xi = np.real(left[:, np.argmin(abs(w - 1))])
    xi /= xi.sum()
    v = scipy.linalg.solve(np.eye(n) - gamma * P, r)
    Xi = np.diag(xi)
    D = phi.T @ Xi @ phi
    C = phi.T @ Xi @ (phi - gamma * P @ phi)
    theta = scipy.linalg.solve(C, phi.T @ Xi @ r)
    root = np.sqrt(xi)[:, None]
    Q = scipy.linalg.orth(root * phi)  # orthonormal after scaling by sqrt(xi)
    K = Q.T @ (root * (np.eye(n) - gamma * P) / root.T) @ Q
    mu = scipy.linalg.eigvalsh((K + K.T) / 2)[0]
    L = scipy.linalg.svdvals(K)[0]
    steps, t = [], np.zeros(phi.shape[1])
    for _ in range(STEPS):  # projected value iteration by weighted least squares
        t = scipy.linalg.lstsq(root * phi, root[:, 0] * (r + gamma * P @ (phi @ t)))[0]
        steps.append(t)
    return {"xi": xi, "v": v, "theta": theta, "constants": np.array([mu, L]),
            "steps": np.array(steps)}


def main():
    lines = []
    cases = [(6, 2, 0.5, 5), (12, 4, 0.9, 3), (25, 5, 0.99, 2), (40, 6, 0.8, 4)]
    for case, (n, d, gamma, keep) in enumerate(cases):
        P, r, phi, gamma = process(case, n, d, gamma, keep)
        found = {"P": P, "r": r, "phi": phi, "gamma": np.array([gamma])}
        found.update(solve(P, r, phi, gamma))
        for name, x in found.items():
            x = np.atleast_2d(x)
            lines.append(",".join([str(case), name, str(x.shape[0]), str(x.shape[1])] +
                                  [repr(float(y)) for y in x.ravel()]))
    target = pathlib.Path(__file__).with_suffix(".csv")
    target.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
