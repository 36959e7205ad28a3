#!/usr/bin/env python3
"""alpha of every outer step of the three-player game of docs/game-files.md, with 60 digits, by mpmath.
Writes alpha.csv beside itself.

Levenberg-Marquardt with damping 0.01, one inner step, eta 0.1. Starts are those that the seeds draw.
Each line is: seed, name, count, then the numbers. The tests read that file; neither building nor
testing needs this script or mpmath.
"""
import pathlib

from mpmath import exp, lu_solve, matrix, mp, mpf, nstr, sqrt, tanh

mp.dps = 60
ETA, DAMPING, STEPS = mpf(0.1), mpf(0.01), 300

STARTS = {
    1: [-0.05511083914090306, 0.9942471157683109, 0.3, -0.2, -0.24315242518347469,
        -0.1559083988812731, 0.3127632898074147, 0.07774928329569125, -0.5441556608507276,
        -0.18728404981756003, 0.121688058801032, -0.11061185726766955, -0.6186030293272179,
        0.5025678057673905, -0.310023594002257, 0.4985539196552979],
    4: [0.8171941650859529, 0.22961495657672043, 0.3, -0.2, -0.021054108833528238,
        0.7785362602350929, 0.868540343024842, -0.6950412220392393, 0.5170001970696547,
        0.13628238354304367, -0.4120579902393078, 0.06113410046820728, -0.6125688926091253,
        -0.27182992536981665, -0.31275439127848986, -0.8110430206468253],
}
SOFTMAX = [[1, mpf(0.5)], [0, 1], [-1, mpf(0.5)]]
INPUTS = [[mpf(0.2), mpf(-1)], [mpf(1), mpf(0.4)]]


def operator():
    """F(z) = A z + q: payoffs, the third player's quadratic loss, and the regulariser."""
    A, q = matrix(7, 7), matrix([0, 0, 0, 0, 0, 1, -1])
    blocks = [(0, 3, [[1, 0], [0, 1], [1, 1]]), (3, 0, [[-1, 0, -1], [0, -1, -1]]),
              (3, 5, [[0, 1], [-1, 0]]), (5, 3, [[0, 1], [-1, 0]]), (5, 5, [[2, 0.5], [0.5, 1]])]
    for row, column, block in blocks:
        for i, numbers in enumerate(block):
            for j, x in enumerate(numbers):
                A[row + i, column + j] += x
    for i in range(7):
        A[i, i] += mpf(0.5)
    return A, q


def model(t):
    """z = g(theta) and its Jacobian: a softmax, two parameters as they are, and a network."""
    z, J = matrix(7, 1), matrix(7, 16)
    e = [exp(sum(w * x for w, x in zip(row, t[:2]))) for row in SOFTMAX]
    p = [x / sum(e) for x in e]
    for i in range(3):
        z[i] = p[i]
        for j in range(2):
            J[i, j] = p[i] * (SOFTMAX[i][j] - sum(p[k] * SOFTMAX[k][j] for k in range(3)))
    for i in range(2):
        z[3 + i], J[3 + i, 2 + i] = t[2 + i], 1
    weights, bias, last = t[4:10], t[10:13], t[13:16]
    for r, x in enumerate(INPUTS):
        for k in range(3):
            h = tanh(weights[2 * k] * x[0] + weights[2 * k + 1] * x[1] + bias[k])
            slope = last[k] * (1 - h * h)
            z[5 + r] += last[k] * h
            J[5 + r, 4 + 2 * k], J[5 + r, 5 + 2 * k] = slope * x[0], slope * x[1]
            J[5 + r, 10 + k], J[5 + r, 13 + k] = slope, h
    return z, J


def project(v):
    """Onto Z: the first three outputs onto the simplex, by sorting."""
    total, tau = mpf(0), mpf(0)
    for k, x in enumerate(sorted(v[:3], reverse=True), 1):
        total += x
        if x > (total - 1) / k:
            tau = (total - 1) / k
    return matrix([max(x - tau, 0) for x in v[:3]] + list(v[3:]))


def half_square(x):
    return sum(y * y for y in x) / 2


def alphas(start):
    A, q = operator()
    t, out = [mpf(x) for x in start], []
    z, J = model(t)
    for _ in range(STEPS):
        v = z - ETA * (A * z + q)
        floor, before = half_square(project(v) - v), half_square(z - v)
        S = J * J.T
        for i in range(7):
            S[i, i] += DAMPING
        step = J.T * lu_solve(S, z - v)
        t = [x - y for x, y in zip(t, step)]
        z, J = model(t)
        out.append(sqrt((half_square(z - v) - floor) / (before - floor)))
    return out


def main():
    with open(pathlib.Path(__file__).with_suffix(".csv"), "w") as f:
        for seed, start in STARTS.items():
            print(seed, "theta", len(start), *map(repr, start), sep=",", file=f)
            print(seed, "alpha", STEPS, *(nstr(x, 12) for x in alphas(start)), sep=",", file=f)


main()
