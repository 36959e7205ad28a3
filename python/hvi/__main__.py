"""Data and policies of others as files of hvi, and logs and networks of hvi as files of others."""
import argparse
import os
import sys

from . import __version__, data, onnx, policies, tensorboard
from ._core import ArgumentError, Error, MissingPackage, OutOfMemory, SystemFailure

USAGE, INPUT, SYSTEM, INTERRUPTED, PIPE = 2, 3, 5, 130, 141


class Parser(argparse.ArgumentParser):
    """A mistake is one line, and the exit code is the program's."""

    def error(self, message):
        self.exit(USAGE, f"hvi: {message}; '{self.prog} --help' tells more\n")


def say(quiet: bool, line: str) -> None:
    """Talk, which goes to stderr."""
    if not quiet:
        print(line, file=sys.stderr)


class Bar:
    """Progress on one line of a terminal; nothing elsewhere."""

    def __init__(self, quiet: bool, what: str):
        self.what, self.on, self.shown = what, not quiet and sys.stderr.isatty(), False

    def __call__(self, done: int, total: int = None) -> None:
        if self.on:
            self.shown = True
            print(f"\r{self.what} {done}{f' of {total}' if total else ''}\033[K", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Takes the line away."""
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def is_data(path: str) -> bool:
    """Whether FILE is data: a folder, or HDF5 by its first bytes."""
    if os.path.isdir(path):
        return True
    try:
        with open(path, "rb") as f:
            return f.read(8) == b"\x89HDF\r\n\x1a\n"
    except OSError as e:
        raise SystemFailure(f"cannot open '{path}': {e.strerror}") from None


def convert(a) -> None:
    """FILE to OUT.safetensors."""
    if not a.out.endswith(".safetensors"):
        raise ArgumentError(f"OUT must end in .safetensors, not '{a.out}'")
    kind, path = getattr(a, "from"), os.path.expanduser(a.file)
    as_data = kind in ("minari", "d4rl") or (kind is None and is_data(path))
    if not as_data:
        made = policies.convert(path, a.out, kind=kind, deterministic=a.deterministic, force=a.force)
        say(a.quiet, f"{a.out}: {repr(made)[len('<hvi '):-1]}")
        return
    if a.deterministic:
        raise ArgumentError("--deterministic goes with policies, and not with data")
    bar = Bar(a.quiet, "episode")
    try:
        read = {None: data.read, "minari": data.from_minari}.get(kind)
        found = read(path, bar) if read else data.from_d4rl(path)
    finally:
        bar.end()
    remarks = data.save(a.out, found, force=a.force)
    say(a.quiet, f"{a.out}: {repr(found)[len('<hvi '):-1]}" + (f"\n{remarks.rstrip()}" if remarks else ""))


def to_tensorboard(a) -> None:
    """RUN.jsonl to event files in DIR."""
    bar = Bar(a.quiet, "steps")
    try:
        steps = tensorboard.convert(a.log, a.folder, follow=a.follow, force=a.force, every=a.every, idle=a.idle, progress=bar)
    finally:
        bar.end()
    say(a.quiet, f"{a.folder}: {steps} steps more; tensorboard --logdir {a.folder} shows them")


def to_onnx(a) -> None:
    """FILE.safetensors to OUT.onnx."""
    onnx.export(a.file, a.out, force=a.force)
    say(a.quiet, f"{a.out}: input obs, output {onnx.output_of(a.out)}")


VERBS = {
    "convert": (convert, "data of Minari or D4RL, or a checkpoint of a policy, as hvi's .safetensors",
                "python -m hvi convert ~/.minari/datasets/pendulum/random-v0 pendulum.safetensors\n"
                "hvi evaluate --data pendulum.safetensors\n\n"
                "python -m hvi convert sac.zip sac.safetensors\n"
                "hvi policy score pendulum --policy sac.safetensors"),
    "tensorboard": (to_tensorboard, "the log of solve, evaluate or policy train as event files",
                    "hvi evaluate lqr --policy default --log run.jsonl &\n"
                    "python -m hvi tensorboard run.jsonl runs/lqr --follow\n"
                    "tensorboard --logdir runs"),
    "onnx": (to_onnx, "a value network or a policy as an ONNX file",
             "python -m hvi onnx lqr-value.safetensors lqr-value.onnx"),
}


def parser() -> Parser:
    """The commands and their options."""
    text = argparse.RawDescriptionHelpFormatter
    codes = "exit codes: 0 done, 2 wrong command line, 3 bad input, 5 the system refused or a package is missing, 130 Ctrl-C"
    top = Parser(prog="python -m hvi", formatter_class=text, description=__doc__, epilog="examples:\n" + "\n".join(
        f"  {line}" for _, _, example in VERBS.values() for line in example.splitlines() if line.startswith("python"))
        + f"\n\n{codes}")
    top.add_argument("--version", action="version", version=f"hvi {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="COMMAND", required=True)
    made = {name: verbs.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".", formatter_class=text,
                                   epilog="examples:\n" + "\n".join(f"  {x}".rstrip() for x in example.splitlines()))
            for name, (_, line, example) in VERBS.items()}
    c, t, o = made["convert"], made["tensorboard"], made["onnx"]
    c.add_argument("file", metavar="FILE", help="a Minari folder, an .hdf5 file, a .zip, .cleanrl_model, .pt or .d3")
    c.add_argument("out", metavar="OUT.safetensors")
    c.add_argument("--from", choices=("minari", "d4rl", *policies.KINDS), help="whose FILE is, where it does not tell")
    c.add_argument("--deterministic", action="store_true", help="of a policy the mean action alone")
    t.add_argument("log", metavar="RUN.jsonl")
    t.add_argument("folder", metavar="DIR")
    t.add_argument("--follow", action="store_true", help="go on as the log grows; Ctrl-C ends it, and so does a solve's end")
    t.add_argument("--every", type=float, default=1.0, metavar="S", help="seconds between two looks [1]")
    t.add_argument("--idle", type=float, metavar="S", help="with --follow: end when nothing was added for so many seconds")
    o.add_argument("file", metavar="FILE.safetensors", help="of `hvi evaluate`, `hvi policy train` or convert")
    o.add_argument("out", metavar="OUT.onnx")
    for p in made.values():
        p.add_argument("--force", action="store_true", help="replace files that hvi did not make for this")
        p.add_argument("-q", "--quiet", action="store_true", help="say nothing but complaints")
    return top


def complain(code: int, message) -> int:
    """One line on stderr."""
    print(f"hvi: {' '.join(str(message).split())}", file=sys.stderr)
    return code


def main(words=None) -> int:
    """Runs a command; the exit code."""
    a = parser().parse_args(words)
    try:
        VERBS[a.verb][0](a)
        return 0
    except ArgumentError as e:
        return complain(USAGE, e)
    except (SystemFailure, OutOfMemory, MissingPackage) as e:
        return complain(SYSTEM, e)
    except Error as e:
        return complain(INPUT, e)
    except KeyboardInterrupt:
        return complain(INTERRUPTED, "interrupted")
    except BrokenPipeError:
        return PIPE
    except OSError as e:
        return complain(SYSTEM, e)


if __name__ == "__main__":
    sys.exit(main())
