#!/usr/bin/env python3
"""Compares two outputs of `hvi reproduce`, column by column, to the bit: for changes that must not change numbers.

    scripts/compare-reproduce.py OLD NEW [ID...]

Every number of every CSV in OLD must be in NEW, and every claim must have its verdict. Clocks are left out: they
differ from run to run. Prints what differs and exits with 1 if anything does.
"""
import csv
import json
import math
import pathlib
import re
import sys

CLOCKS = re.compile(r"seconds|milliseconds|^ns_|ratio_to_gda|_ns$")
CLOCK_FILES = re.compile(r"(seconds|clocks)[^/]*\.csv$")


def rows_of(path):
    lines = [line for line in path.open(encoding="utf-8") if not line.startswith("#")]
    return list(csv.DictReader(lines))


def same(a, b):
    try:
        x, y = float(a), float(b)
    except ValueError:
        return a == b
    return x == y or (math.isnan(x) and math.isnan(y))


def compare_file(old, new):
    """What is wrong, a line for each column."""
    if not new.exists():
        yield "is not there"
        return
    olds, news = rows_of(old), rows_of(new)
    if len(olds) != len(news):
        yield f"{len(olds)} rows became {len(news)}"
        return
    for column in olds[0] if olds else []:
        if CLOCKS.search(column):
            continue
        if column not in news[0]:
            yield f"has no column {column}"
            continue
        changed = (i for i, (a, b) in enumerate(zip(olds, news)) if not same(a[column], b[column]))
        if (i := next(changed, None)) is not None:
            yield f"{column}, row {i + 1}: {olds[i][column]} became {news[i][column]}"


def compare_claims(old, new):
    was, now = ({c["id"]: c for c in json.loads((p / "claims.json").read_text())["claims"]} for p in (old, new))
    for name, claim in was.items():
        verdict = now[name]["verdict"] if name in now else "not there"
        if verdict != claim["verdict"]:
            yield f"claim {name}: '{claim['verdict']}' became '{verdict}'"


def compare(old, new):
    files = [p for p in sorted(old.rglob("*.csv")) if not CLOCK_FILES.search(p.name)]
    for path in files:
        name = path.relative_to(old)
        yield from (f"{name}: {line}" for line in compare_file(path, new / name))
    yield from compare_claims(old, new)
    print(f"{old.name}: {len(files)} files compared")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    old, new = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folders = [p.parent for p in sorted(old.glob("*/claims.json")) if not sys.argv[3:] or p.parent.name in sys.argv[3:]]
    if not folders:
        sys.exit(f"no results in '{old}'")
    failed = False
    for folder in folders:
        if not (new / folder.name / "claims.json").exists():
            lines = ["is not there"]
        else:
            lines = compare(folder, new / folder.name)
        for line in lines:
            print(f"{folder.name}: {line}")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
