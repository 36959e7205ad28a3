"""Logs of `hvi solve`, `hvi evaluate` and `hvi policy train` (--log FILE.jsonl) as event files of TensorBoard.

    hvi.tensorboard.convert("run.jsonl", "runs/pennies")
    python -m hvi tensorboard run.jsonl runs/pennies --follow         # while the run goes on

Every number of a line is a scalar of the line's step, under its name in the log, rounded to a float: TensorBoard's
server leaves out doubles. A second call goes on where the first one ended."""
import json
import os
import time
from pathlib import Path

import numpy as np

from ._core import ArgumentError, InputError, MismatchError, SystemFailure, need

SUFFIX = ".hvi"  # of our event files' names; those of others in the same folder are left alone
STEPS = ("outer", "step")


def read_log(path, start: int = 0) -> tuple:
    """The whole lines of a log from a byte on: a list of dictionaries, and where the next one begins.

    A line that is still being written has no end yet, and is left for later."""
    try:
        with open(path, "rb") as f:
            f.seek(start)
            raw = f.read()
    except OSError as e:
        raise SystemFailure(f"cannot open '{path}': {e.strerror}") from None
    whole = raw[:raw.rfind(b"\n") + 1]
    rows = []
    for i, line in enumerate(whole.splitlines()):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or step_of(row) is None:
            raise InputError(f"'{path}' is no log of hvi: line {i + 1}{' from where it stood' if start else ''} "
                             "is no JSON object with 'outer' or 'step'")
        rows.append(row)
    return rows, start + len(whole)


def step_of(row: dict):
    """The step of a line: outer steps, or environment steps of `policy train`."""
    step = row.get("outer", row.get("step"))
    return step if isinstance(step, int) and not isinstance(step, bool) and step >= 0 else None


def scalars(row: dict) -> dict:
    """The numbers of a line by name, as floats; null, which stands for none, and words are left out."""
    return {k: float(np.float32(v)) for k, v in row.items() if isinstance(v, (int, float)) and not isinstance(v, bool) and k not in STEPS}


def _seconds(row: dict) -> float:
    """Of the run so far, as far as a line tells; steps where it does not."""
    parts = [row[k] for k in ("seconds", "seconds_collect", "seconds_optimise") if isinstance(row.get(k), (int, float))]
    return float(sum(parts))


def _files(folder) -> list:
    return sorted(p for p in Path(folder).glob(f"events.out.tfevents.*{SUFFIX}") if p.is_file())


def _written(folder) -> tuple:
    """The last step in our event files of a folder, and its numbers; (-1, {}) where there are none."""
    loader = need("tensorboard.backend.event_processing.event_file_loader", "tensorboard", "event files are written")
    last, found = -1, {}
    for path in _files(folder):
        for event in loader.EventFileLoader(str(path)).Load():
            for value in event.summary.value:
                if event.step > last:
                    last, found = event.step, {}
                if event.step == last:
                    found[value.tag] = value.tensor.float_val[0]  # the loader makes tensors of scalars
    return last, found


class Writer:
    """Event files of a folder, that go on after what is there already."""

    def __init__(self, folder, force: bool = False):
        writer = need("tensorboard.summary.writer.event_file_writer", "tensorboard", "event files are written")
        folder = os.fspath(folder)
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise SystemFailure(f"'{folder}' is no folder")
        if force:
            for path in _files(folder):
                path.unlink()
        self.last, self.numbers = _written(folder)
        before = _files(folder)
        try:
            os.makedirs(folder, exist_ok=True)
            self._writer = writer.EventFileWriter(folder, filename_suffix=SUFFIX)
        except OSError as e:
            raise SystemFailure(f"cannot write in '{folder}': {e.strerror}") from None
        self.folder, self.start, self.steps = folder, None, 0
        self._mine = [p for p in _files(folder) if p not in before]

    def check(self, rows: list) -> None:
        """What is there already must be of the same run: its last step stands in the log too, with the same numbers."""
        if self.last >= 0 and self.numbers not in [scalars(row) for row in rows if step_of(row) == self.last]:
            raise MismatchError(f"'{self.folder}' has events of another run, up to step {self.last}; --force replaces them")

    def add(self, row: dict) -> None:
        """The scalars of a line; lines up to the last step that is there are passed over."""
        if step_of(row) <= self.last:
            return
        proto = need("tensorboard.compat.proto.event_pb2", "tensorboard", "event files are written")
        summary = need("tensorboard.compat.proto.summary_pb2", "tensorboard", "event files are written").Summary
        if self.start is None:
            self.start = time.time() - _seconds(row)
        values = [summary.Value(tag=k, simple_value=x) for k, x in scalars(row).items()]
        self._writer.add_event(proto.Event(wall_time=self.start + _seconds(row), step=step_of(row),
                                           summary=summary(value=values)))
        self.last, self.numbers, self.steps = step_of(row), scalars(row), self.steps + 1

    def flush(self) -> None:
        """To the disk."""
        self._writer.flush()

    def close(self) -> None:
        """Ends the file; one without a step is not left behind."""
        self._writer.close()
        if self.steps == 0:
            for path in self._mine:
                path.unlink()


def convert(log, folder, *, follow: bool = False, force: bool = False, every: float = 1.0, idle: float = None,
            progress=None) -> int:
    """Writes the steps of a log that the folder does not have yet; returns how many.

    follow: goes on as the log grows, until it says that the run has ended, or nothing was added for `idle` seconds,
    or Ctrl-C; `every`: seconds between two looks. A log that was begun anew is refused, since TensorBoard would draw
    both runs; force removes our earlier events. progress: is called with the number of steps written."""
    if not every > 0:
        raise ArgumentError(f"every must be seconds above 0, not {every}")
    log = os.path.expanduser(log)
    rows, at = read_log(log)
    writer, quiet = Writer(folder, force), 0.0
    try:
        writer.check(rows)
        while True:
            for row in rows:
                writer.add(row)
            writer.flush()
            if progress:
                progress(writer.steps)
            ended = bool(rows) and rows[-1].get("status", "running") != "running"
            if not follow or ended or (idle is not None and quiet >= idle):
                return writer.steps
            time.sleep(every)
            if os.path.getsize(log) < at:
                raise MismatchError(f"'{log}' became shorter: it is another run")
            rows, at = read_log(log, at)
            quiet = 0.0 if rows else quiet + every
    finally:
        writer.close()
