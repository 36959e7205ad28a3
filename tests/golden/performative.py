#!/usr/bin/env python3
"""Repeated risk minimisation on forty credit records, by SciPy. Writes performative.csv beside
itself, from ../data/credit/tiny.csv, which it makes first.

Each line is: eps, round, the loss on the deployed data before retraining, then theta (ten features
and the bias) after it. The tests read that file; neither building nor testing needs this script,
NumPy or SciPy.
"""
import csv
import pathlib

import numpy as np
import scipy.optimize

HERE = pathlib.Path(__file__).parent
RECORDS = HERE.parent / "data" / "credit" / "tiny.csv"
NAMES = ["SeriousDlqin2yrs", "RevolvingUtilizationOfUnsecuredLines", "age",
         "NumberOfTime30-59DaysPastDueNotWorse", "DebtRatio", "MonthlyIncome",
         "NumberOfOpenCreditLinesAndLoans", "NumberOfTimes90DaysLate",
         "NumberRealEstateLoansOrLines", "NumberOfTime60-89DaysPastDueNotWorse",
         "NumberOfDependents"]
STRATEGIC = [0, 5, 7]
ROUNDS = 4


def write_records():
    """Forty complete rows and three with a value missing, from a formula."""
    i = np.arange(43)

    def wave(a, b, c):
        return 0.5 + 0.5 * np.sin(a * i + b * np.cos(c * i))

    risk = wave(1.7, 2.0, 0.9)
    columns = [(risk + 0.5 * wave(2.9, 1.0, 1.1) > 0.85).astype(int),
               np.round(2 * risk * wave(0.7, 3.0, 2.3), 3),
               np.round(25 + 60 * wave(2.1, 1.0, 1.7)).astype(int),
               np.floor(3 * risk * wave(1.3, 2.0, 0.4)).astype(int),
               np.round(0.05 + wave(3.3, 1.0, 0.8), 3),
               np.round(2000 + 9000 * wave(0.9, 1.0, 2.7)).astype(int),
               np.round(15 * wave(1.9, 2.0, 1.3)).astype(int),
               np.floor(4 * risk * wave(2.5, 1.0, 0.6)).astype(int),
               np.round(3 * wave(1.1, 3.0, 1.9)).astype(int),
               np.floor(3 * wave(2.3, 2.0, 0.7)).astype(int),
               np.round(4 * wave(0.6, 1.0, 3.1)).astype(int)]
    with open(RECORDS, "w", newline="\n") as f:
        f.write(",".join(f'"{n}"' for n in [""] + NAMES) + "\n")
        for k in i:
            row = [str(c[k]) for c in columns]
            if k % 14 == 5:
                row[5 if k % 28 == 5 else 10] = "NA"
            f.write(",".join([f'"{k + 1}"'] + row) + "\n")


def read_records():
    with open(RECORDS, newline="") as f:
        rows = [r for r in csv.DictReader(f) if "NA" not in r.values()]
    y = np.array([float(r[NAMES[0]]) for r in rows])
    x = np.array([[float(r[n]) for n in NAMES[1:]] for r in rows])
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    return np.hstack([x, np.ones((len(x), 1))]), y


def risk(theta, x, y, lam):
    s = x @ theta
    f = np.mean(np.logaddexp(0, s) - y * s) + 0.5 * lam * theta[:-1] @ theta[:-1]
    g = x.T @ (1 / (1 + np.exp(-s)) - y) / len(y)
    g[:-1] += lam * theta[:-1]
    return f, g


def curvature(theta, x, y, lam):
    p = 1 / (1 + np.exp(-(x @ theta)))
    return (x.T * (p * (1 - p))) @ x / len(y) + lam * np.diag([1.0] * 10 + [0.0])


def deployed(x, theta, eps):
    moved = x.copy()
    moved[:, STRATEGIC] -= eps * theta[STRATEGIC]
    return moved


def main():
    write_records()
    x, y = read_records()
    assert x.shape == (40, 11) and 0 < y.sum() < 40
    lam = 1 / len(y)
    with open(HERE / "performative.csv", "w", newline="\n") as out:
        for eps in (0.5, 10.0):
            theta = np.zeros(11)
            for k in range(ROUNDS):
                at = deployed(x, theta, eps)
                before = risk(theta, at, y, lam)[0]
                fit = scipy.optimize.minimize(risk, theta, (at, y, lam), jac=True, hess=curvature,
                                              method="trust-exact", options={"gtol": 1e-6})
                # the value cannot tell the last digits, the gradient can
                theta = scipy.optimize.root(lambda t: risk(t, at, y, lam)[1], fit.x,
                                            jac=lambda t: curvature(t, at, y, lam), tol=1e-14).x
                assert np.abs(risk(theta, at, y, lam)[1]).max() < 1e-11
                numbers = ",".join(repr(float(v)) for v in [before, *theta])
                out.write(f"{eps},{k + 1},{numbers}\n")


if __name__ == "__main__":
    main()
