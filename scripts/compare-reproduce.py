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
# the column that gives (file, column, {column: value of the rows, or what accepts it}, what is done to
# the new number), and optionally which of the old rows (a function of index and row), or a column by
# which rows belong together where some are left out. A list of such where the rows of an old file are
# in several.
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


@renamed(".*", ENVIRONMENTS + r"-levels-(outer|gradients|threshold)-(error|gap)\.csv")
def levels(m, column):
    if m[3] == "gap" and column == "noise":
        return None  # empty: the noise is in the error, whose levels are in the same file now
    name = f"lowest_{m[3]}" if column == "lowest" else column
    return f"levels-{m[1]}-{m[2]}.csv", name, {}, keep


@renamed("alpha", ENVIRONMENTS + r"-levels-threshold-error\.csv")
def threshold_levels(m, column):
    return None  # the same two levels over thresholds: they are in levels-ENVIRONMENT-outer.csv


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
    if len(where) > 4 and callable(where[4]):
        old = [r for i, r in enumerate(old) if where[4](i, r)]
    path = new_folder / file
    if not path.exists():
        return f"{file} is not there"
    rows = [r for r in rows_of(path) if all(fits(r.get(k, ""), v) for k, v in match.items())]
    if rows and name not in rows[0]:
        if all(r[column] == "" for r in old):
            return None
        return f"{file} has no column {name}"
    if len(where) > 4 and not callable(where[4]):
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


@renamed("theory", r"rate\.csv")
def theory_rate(_, column):
    biases = ("away", "aside", "random")
    if column in biases:
        return f"rate-{column}.csv", "contraction", {}, keep, lambda i, r: r[column] != ""
    return [(f"rate-{b}.csv", column, {}, keep, lambda i, r, b=b: r[b] != "") for b in biases]


@renamed("theory", r"lemma\.csv")
def theory_lemma(_, column):
    if column == "case":
        return None  # words: set, bias and alpha, or problem and method, have columns now
    column = {"steps": "changes"}.get(column, column)
    return [("lemma-box.csv", column, {}, keep, lambda i, r: r["case"].startswith("box ")),
            ("lemma-simplex.csv", column, {}, keep, lambda i, r: r["case"].startswith("simplex ")),
            ("lemma-solvers.csv", column, {}, keep,
             lambda i, r: not re.match("box |simplex ", r["case"]))]


@renamed("theory", r"printed\.csv")
def theory_printed(_, column):
    games = [("signs.csv", column, {}, keep, lambda i, r: r["problem"] != "quadratic")]
    if column == "problem":
        return games
    return games + [("step-bound.csv", column, {}, keep, lambda i, r: r["problem"] == "quadratic")]


@renamed("theory", r"scalar\.csv")
def theory_scalar(_, column):
    return "scalar.csv", {"direction": "bias"}.get(column, column), {}, keep


@renamed("theory", r"vanishing\.csv")
def theory_vanishing(_, column):
    if column == "step":
        return "vanishing-path-harmonic.csv", "step", {}, keep
    return f"vanishing-path-{column}.csv", "distance", {}, keep


NOISE = [(e, a) for e in ("1", "0p5", "0p25") for a in ("0", "0p5")]


@renamed("theory", r"noise\.csv")
def theory_noise(_, column):
    return [(f"noise-{e}-{a}.csv", column, {}, keep, lambda i, r, k=k: i % len(NOISE) == k)
            for k, (e, a) in enumerate(NOISE)]


@renamed("theory", r"noise-curves\.csv")
def theory_curves(_, column):
    share = {"1": "1", "2": "0p5", "3": "0p25"}.get(column[-1], "1")
    return (f"noise-{share}-0p5.csv", column.rstrip("123"), {"sigma": lambda s: float(s) > 0}, keep)


@renamed("theory", r"pl\.csv")
def theory_pl(_, column):
    if column == "loss":
        return None  # the name of the file
    if column in ("square", "wavy"):
        return f"pl-{column}.csv", "ratio", {}, keep, lambda i, r: r[column] != ""
    name = {"model": "g"}.get(column, column)
    return [(f"pl-{f}.csv", name, {}, keep, lambda i, r, f=f: r["loss"] == f)
            for f in ("square", "wavy")]


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


def same_form(rows, path):
    """Whether a file of NEW has the columns of OLD's: then nothing of it was renamed."""
    return path.exists() and bool(rows_of(path)) and rows_of(path)[0].keys() == rows[0].keys()


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
            where = (file, column, {}, keep) if same_form(rows, new / file) else find(experiment, file, column)
            if where is None:
                continue
            columns += 1
            for one in where if isinstance(where, list) else [where]:
                wrong = compare_column(rows, column, new, one, NEAR.get(experiment, 0.0))
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
