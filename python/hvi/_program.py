"""The program hvi, which the package carries: hvi.reproduce runs it."""
import json
import os
import signal
import subprocess
from pathlib import Path

from ._core import ArgumentError, Error, Fields, InputError, Result, SystemFailure, html


_ERRORS = {2: ArgumentError, 3: InputError, 5: SystemFailure}  # by the program's exit codes


def program() -> str:
    """The path of the program: HVI_PROGRAM, or the one that the package carries."""
    path = os.environ.get("HVI_PROGRAM") or Path(__file__).parent / "program" / "bin" / "hvi"
    if not os.access(path, os.X_OK):
        raise SystemFailure(f"there is no program '{path}': the wheel of `make wheel` carries it, HVI_PROGRAM names another")
    return str(path)


class Report(Result):
    """What hvi.reproduce left: out (the folder), page (index.html), claims, and images, by experiment."""

    _shown = ("out", "page", "experiments")

    @property
    def experiments(self) -> list:
        """Names of the experiments."""
        return list(self.claims)

    def __repr__(self):
        return "\n".join(f"{c.verdict:<14} {name}: {c.claim}" for name, found in self.claims.items() for c in found)

    def _repr_html_(self):
        return "".join(html(name, [(c.verdict, c.claim) for c in found]) for name, found in self.claims.items())


def _run(words: list) -> str:
    """Runs the program to its end; Ctrl-C reaches it, and it leaves what can be resumed."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="backslashreplace", start_new_session=True) as p:  # a terminal's Ctrl-C comes once
        try:
            out, err = p.communicate()
        except KeyboardInterrupt:
            p.send_signal(signal.SIGINT)
            p.communicate()
            raise
    if p.returncode != 0:
        raise _ERRORS.get(p.returncode, Error)((err.strip() or f"the program ended with {p.returncode}").removeprefix("hvi: "))
    return out


def reproduce(*ids: str, out="out", **options) -> Report:
    """Runs experiments of the paper, or YAML files of one's own, with the program; all of the paper's without ids.

    out: the folder for data, figures, claims and the page. Options are the program's: full=True, resume=True, jobs=4, ...
    A claim that does not hold is a result, not an error. Figures need gnuplot."""
    words = [program(), "reproduce", "--out", str(out), "--quiet"]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        words += [option] if value is True else [] if value in (False, None) else [option, str(value)]
    printed, claims, images = _run([*words, "--", *map(str, ids)]), {}, {}
    for file in sorted(Path(out).glob("*/claims.json")):
        found = json.loads(file.read_text())
        claims[file.parent.name] = [Fields(c) for c in found.get("claims", [])]
        images[file.parent.name] = sorted(str(p) for p in file.parent.glob("*.png"))
    return Report(out=str(out), page=str(Path(out) / "index.html"), claims=claims, images=images, text=printed)
