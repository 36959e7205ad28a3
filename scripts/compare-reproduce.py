#!/usr/bin/env python3
"""Compares two outputs of `hvi reproduce`, column by column, to the bit.

    scripts/compare-reproduce.py OLD NEW [ID...]

Every number of every CSV in OLD must be in NEW. Clocks are left out: they differ from run to run.
Files and columns that have another name in NEW, and the few that were given up on purpose, are in
the tables below. Prints what differs and exits with 1 if anything does.
"""
import csv
import json
import math
import pathlib
import re
import sys

CLOCKS = re.compile(r"seconds|milliseconds|^ns_|ratio_to_gda|_ns$")
CLOCK_FILES = re.compile(r"-seconds\.csv$|levels-seconds")

# Experiments whose numbers were allowed to change in their last digits, and by what share.
NEAR = {"linear": 1e-9}

# (experiment, old file) as patterns -> how to find its columns in NEW: a function of the match and
# the column that gives (file, column, {column: value of the rows}, what is done to the new number),
# and optionally a column by which rows belong together where some are left out on either side.
RENAMED = []


def renamed(experiment, file):
    def add(function):
        RENAMED.append((re.compile(experiment + "$"), re.compile(file + "$"), function))
        return function
    return add


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower().replace(".", "p")).strip("-")


ENVIRONMENTS = "(half-cheetah|ant)"


def keep(x):
    return x


@renamed(".*", ENVIRONMENTS + r"-levels-(outer|gradients)-(error|gap)\.csv")
def levels(m, column):
    name = f"lowest_{m[3]}" if column == "lowest" else column
    return f"levels-{m[1]}-{m[2]}.csv", name, {}, keep


@renamed(".*", ENVIRONMENTS + r"-thresholds-(\w+)\.csv")
def thresholds(m, column):
    return f"thresholds-{m[1]}.csv", column, {}, keep


@renamed(".*", ENVIRONMENTS + r"-(.+)-(outer|gradients)\.csv")
def curves(m, column):
    return f"{m[3]}-{m[1]}-{m[2]}.csv", column, {}, keep


@renamed(".*", "pieces/" + ENVIRONMENTS + r"-(.+)-(\d+)\.csv")
def pieces(m, column):
    # inner steps before the first outer step are nothing now, and were 0
    change = (lambda x: x or "0") if column == "inner" else keep
    match = {"environment": m[1].replace("-", "_"), "method": lambda x: slug(x) == m[2], "seed": m[3]}
    return "runs.csv", column, match, change


@renamed("accelerated", r"chain\.csv")
def chain(m, column):
    return f"chain-trace-{'plain' if column == 'outer' else column}.csv", "outer" if column == "outer" else "dist2", {}, keep


def rows_of(path, cache={}):
    if path not in cache:
        lines = [line for line in path.open(encoding="utf-8") if not line.startswith("#")]
        cache[path] = list(csv.DictReader(lines))
    return cache[path]


def same(a, b, share=0.0):
    if a == b:
        return True
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return x == y or abs(x - y) <= share * abs(x) or (math.isnan(x) and math.isnan(y))


def fits(text, wanted):
    return wanted(text) if callable(wanted) else same(text, wanted)


def compare_column(old, column, new_folder, where, share):
    """None when the column is there, or what is wrong."""
    file, name, match, change = where[:4]
    path = new_folder / file
    if not path.exists():
        return f"{file} is not there"
    rows = [r for r in rows_of(path) if all(fits(r.get(k, ""), v) for k, v in match.items())]
    if rows and name not in rows[0]:
        if all(r[column] == "" for r in old):
            return None
        return f"{file} has no column {name}"
    if len(where) > 4:
        by_key = {r[where[4]]: r for r in rows}
        rows = [by_key.get(r[where[4]], {name: ""}) for r in old]
    values = [change(r[name]) for r in rows]
    olds = [r[column] for r in old]
    if len(values) != len(olds):
        return f"{len(olds)} rows, {file} has {len(values)}"
    for i, (a, b) in enumerate(zip(olds, values)):
        if not same(a, b, share):
            return f"row {i + 1}: {a} became {b} in {file}, {name}"
    return None


PERFORMATIVE = {"linear": ["RRM", "RGD", "Surr-GD(10)", "LM(1)"], "credit": ["RRM", "RGD", "Surr-GD(20)", "LM(1)"],
                "rir": ["RRM (Adam)", "RGD", "Surr-GD(50)", "LM(1)"],
                "beyond": ["RRM, η = 1", "η = 0.45", "optimistic, η = 0.3", "mean of 3, η = 1"]}


# A column became a file. Squared distances and gaps that have run away were left out, and gaps of credit below
# 1e-15 lifted to it.
@renamed("performative", r"(linear|credit|rir|beyond)-(?:(gap|distance|loss)-)?([a-z0-9.]+)\.csv")
def performative(m, column):
    part, what, level = m.groups()
    if column == "deployment":  # rows are found by it
        return None
    columns = ["rrm", "smaller", "optimistic", "averaged"] if part == "beyond" else ["rrm", "rgd", "surr_gd", "lm"]
    table = "rir-retrained" if (part, what) == ("rir", "gap") else part
    least = 1e-15 if (part, what) == ("credit", "gap") else -math.inf
    method = PERFORMATIVE[part][columns.index(column)]
    name = {"gap": "gap", "loss": "loss_after"}.get(what, "dist2")

    def shown(x):
        return x if x == "" else "" if float(x) > 1e12 else repr(max(float(x), least))
    return f"{table}-{slug(level)}-{slug(method)}.csv", name, {}, shown, "deployment"


def find(experiment, file, column):
    for e, f, function in RENAMED:
        if e.match(experiment) and (m := f.match(file)):
            return function(m, column)
    return file, column, {}, keep


def compare_claims(old, new, share):
    a, b = (json.loads((p / "claims.json").read_text())["claims"] for p in (old, new))
    verdicts = {c["id"]: c["verdict"] for c in b}
    for c in a:
        now = verdicts.get(c["id"], "not there")
        if now != c["verdict"]:
            yield f"claim {c['id']}: '{c['verdict']}' became '{now}'"
    numbers = {x for c in b for x in c["measured"].values() if x is not None}
    for c in a:
        for name, x in c["measured"].items():
            if x is None or CLOCKS.search(name) or x in numbers:
                continue
            if not any(same(x, y, share) for y in numbers):
                yield f"note: claim {c['id']}: '{name}' = {x} is not among the new measures"


def compare(experiment, old, new):
    columns = 0
    for path in sorted(old.rglob("*.csv")):
        file = str(path.relative_to(old))
        if CLOCK_FILES.search(file):
            continue
        rows = rows_of(path)
        for column in rows[0] if rows else []:
            if CLOCKS.search(column):
                continue
            where = find(experiment, file, column)
            if where is None:
                continue
            columns += 1
            wrong = compare_column(rows, column, new, where, NEAR.get(experiment, 0.0))
            if wrong:
                yield f"{file}, {column}: {wrong}"
    yield from compare_claims(old, new, NEAR.get(experiment, 0.0))
    print(f"{experiment}: {columns} columns compared")


def main():
    old, new = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    failed = False
    for folder in sorted(p.parent for p in old.glob("*/claims.json")):
        if sys.argv[3:] and folder.name not in sys.argv[3:]:
            continue
        for line in compare(folder.name, folder, new / folder.name):
            print(f"{folder.name}: {line}")
            failed = failed or not line.startswith("note")
    sys.exit(failed)


if __name__ == "__main__":
    main()
