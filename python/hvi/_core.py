"""The library as cffi shows it: errors, settings by name, and small helpers that all parts share."""
import importlib
import math
import operator
import os
import re
import threading

import numpy as np

from ._hvi import ffi, lib

lib.hvi_py_blas_threads(1)  # of the package's own OpenBLAS: the program's bits; NumPy has another

_MODULES = os.path.join(os.path.dirname(__file__), "program", "lib", "hvi")
if os.path.isdir(_MODULES):  # of environments on MuJoCo, which the library loads when one is asked for
    os.environ.setdefault("HVI_MODULE_PATH", _MODULES)


def text(pointer) -> str:
    """A C string; None for NULL. A file's name can hold any bytes, and is shown all the same."""
    return None if pointer == ffi.NULL else ffi.string(pointer).decode(errors="backslashreplace")


class Error(Exception):
    """A call that could not be carried out; its text is the library's own line."""


class ArgumentError(Error, ValueError):
    """The call is wrong: a setting out of range, a name that there is not."""


class InputError(Error, ValueError):
    """The data are wrong: a file's contents, a shape, a NaN."""


class UnsupportedError(Error, NotImplementedError):
    """A method needs what the problem lacks."""


class SystemFailure(Error, OSError):
    """The system would not read or write."""


class OutOfMemory(Error, MemoryError):
    """An allocation failed."""


class MissingPackage(Error, ImportError):
    """A Python package that is not installed; the text has the line that installs it."""


class MismatchError(Error, ValueError):
    """A file is of a run with other settings."""


_ERRORS = {
    lib.HVI_ERROR_ARGUMENT: ArgumentError, lib.HVI_ERROR_INPUT: InputError, lib.HVI_ERROR_UNSUPPORTED: UnsupportedError,
    lib.HVI_ERROR_IO: SystemFailure, lib.HVI_ERROR_MEMORY: OutOfMemory, lib.HVI_ERROR_MISMATCH: MismatchError,
}


def check(status: int, err) -> None:
    """Raises what a status stands for."""
    if status != lib.HVI_OK:
        raise _ERRORS.get(status, Error)(text(err.text) or text(lib.hvi_status_text(status)))


def call(function, *arguments) -> None:
    """Calls a function that takes an hvi_error as its last argument, and raises what it reports.

    An exception of a Python callable that the library called on the way is raised instead."""
    err = ffi.new("hvi_error *")
    with Frame() as frame:
        status = function(*arguments, err)
        frame.settle()
    check(status, err)


class Frame:
    """A call into the library, on this thread, that may call Python: what a callable raised is kept here."""

    _threads = threading.local()

    def __init__(self, watch=None):
        self.watch, self.error = watch, None

    def __enter__(self):
        self._outer = getattr(self._threads, "frame", None)
        self._threads.frame = self
        return self

    def __exit__(self, *_):
        self._threads.frame = self._outer

    @classmethod
    def now(cls):
        return cls._threads.frame

    def fail(self, error) -> None:
        if self.error is None:
            self.error = error
        if self.watch is not None:
            self.watch.failed = True  # the solve stops

    def settle(self) -> None:
        """Raises what a callable raised."""
        if self.error is not None:
            raise self.error


def on_error(kind, value, traceback):
    """For cffi: an exception on its way out of a callable, Ctrl-C among them."""
    Frame.now().fail(value)


def chars(x, name: str, encode=str.encode) -> bytes:
    """A text for the library, which would end it at a zero."""
    try:
        raw = encode(x)
    except (TypeError, UnicodeEncodeError):
        raw = b"\0"
    if b"\0" in raw:
        raise ArgumentError(f"{name} must be a text without zeros, not {x!r}")
    return raw


def path_of(x) -> bytes:
    """The path of a file for the library: a text, bytes, or what pathlib makes."""
    return chars(x, "a path", os.fsencode)


def whole(x, name: str, least: int = 0) -> int:
    """A whole number for the library; 1e5 will do."""
    try:
        found = int(x) if isinstance(x, (float, np.floating)) and x == x // 1 else operator.index(x)
    except (TypeError, OverflowError):
        found = -1
    if not least <= found < 2**64:
        raise ArgumentError(f"{name}: must be a whole number from {least}, not {x!r}")
    return found


def stops(answer) -> bool:
    """Whether a callback said False, NumPy's among it, and not just nothing."""
    return isinstance(answer, (bool, np.bool_)) and not answer


class Fields(dict):
    """A dictionary whose entries are attributes too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self):
        return [*super().__dir__(), *self]


def own(thing, free, *alive):
    """A thing of the library's that is freed when nobody has it any more, and before what it needs."""
    return ffi.gc(thing, lambda x: (free(x), alive)[0])


def vector(pointer, count: int) -> np.ndarray:
    """A copy of doubles[count] of the library's."""
    if count == 0:
        return np.empty(0)
    return np.frombuffer(ffi.buffer(pointer, 8 * count)).copy()


def numbers(x, name: str, kind=np.float64) -> np.ndarray:
    """An array of numbers for the library, in C's order; kind None keeps its type, as far as the library has it.

    What NumPy would make numbers of, or hides behind a mask, is refused."""
    if type(x) is np.ndarray and kind is not None and x.dtype == kind and x.flags.c_contiguous:
        return x
    try:
        a = np.asarray(x)
    except (ValueError, TypeError) as e:
        raise InputError(f"{name} is no array: {e}") from None
    if a.dtype.kind not in "biuf":
        raise InputError(f"{name} has type {a.dtype}, and must be numbers")
    if type(x) is not np.ndarray and np.ma.is_masked(x):
        raise InputError(f"{name} has masked entries; filled() gives them values")
    with np.errstate(over="ignore"):  # infinite then, which the library refuses where it matters
        return np.asarray(a, kind or (np.float64 if a.dtype.itemsize > 8 else a.dtype.newbyteorder("=")), order="C")


def doubles(x, name: str, count: int = None) -> np.ndarray:
    """Numbers on one axis, as many as there must be."""
    a = numbers(x, name)
    if a.ndim > 1 or (count is not None and a.size != count):
        wanted = "one axis" if count is None else f"{count} numbers"
        raise InputError(f"{name} has shape {a.shape}, and must have {wanted}")
    return a.reshape(-1)


def pointer(a: np.ndarray, kind: str = "double"):
    """The address of an array, for as long as the array lives."""
    return ffi.cast(f"{kind} *", a.ctypes.data)


# Settings: their names, ranges, defaults and help are rows of the library's tables.


def rows(table) -> list:
    """The rows of a table but for headings."""
    found, i = [], 0
    while table.rows[i].name != ffi.NULL:
        if table.rows[i].kind != lib.HVI_SETTING_SECTION:
            found.append(table.rows[i])
        i += 1
    return found


def setting_text(value) -> str:
    """A value as the library reads it."""
    if value is None:
        return "none"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return ",".join(setting_text(v) for v in value)
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)


def find(table, name: str):
    """The row of that name, or None. A trailing '_' stands for nothing: lambda_ is lambda."""
    row = lib.hvi_setting_find(table, chars(name, "a name").rstrip(b"_"))
    return None if row == ffi.NULL else row


def known(where: str, given, words, *tables) -> None:
    """Refuses a name that is neither one of the words nor a setting, with the nearest one."""
    for name in given:
        if not any(find(table, name) for table in tables):
            names = [ffi.new("char[]", w.encode()) for w in (*words, *(text(r.name) for t in tables for r in rows(t)))]
            call(lib.hvi_py_unknown, where.encode(), chars(name, "a name"), ffi.new("char *[]", [*names, ffi.NULL]))


def put(table, settings, name: str, value):
    """Sets a member by name, in the library's words where it refuses."""
    call(lib.hvi_setting_set, table, settings, chars(name, "a name").rstrip(b"_"), chars(setting_text(value), name))


def get(row, settings):
    """The value of a row: what `--json` shows."""
    buffer = ffi.new("char[1024]")
    shown = text(lib.hvi_setting_format(row, ffi.cast("void *", settings), buffer, 1024))
    if shown == "none" and row.kind != lib.HVI_SETTING_CHOICE:
        return None
    at = ffi.cast("char *", settings) + row.offset
    kinds = {lib.HVI_SETTING_FLAG: "bool *", lib.HVI_SETTING_REAL: "double *", lib.HVI_SETTING_COUNT: "size_t *"}
    return ffi.cast(kinds[row.kind], at)[0] if row.kind in kinds else shown


def help_of(row) -> str:
    """The line about a setting; where it names options of the program, they are keywords here."""
    return re.sub(r"--([a-z][a-z-]*)", lambda found: found[1].replace("-", "_"), text(row.help))


def document(function, leave_out: str, *tables) -> None:
    """Puts the rows of tables at the end of a docstring."""
    lines, buffer = [], ffi.new("char[512]")
    for row in (r for table in tables for r in rows(table) if text(r.name) not in leave_out.split()):
        rule = text(lib.hvi_setting_rule(ffi.addressof(row), buffer, 512))
        default = f" [{text(row.fallback)}]" if row.fallback != ffi.NULL else ""
        lines.append(f"        {text(row.name)}: {help_of(row)}; {rule}{default}")
    function.__doc__ = "\n".join((function.__doc__.rstrip(), *lines, ""))


def settings_of(name: str) -> list:
    """Rows of a table of the library by its name ('solver', 'value', 'evaluation', ...): names, rules, defaults, help."""
    index, buffer = 0, ffi.new("char[512]")
    known = []
    while (table := lib.hvi_setting_table_at(index)) != ffi.NULL:
        known.append(text(table.name))
        if known[-1] == name:
            return [Fields(name=text(r.name), rule=text(lib.hvi_setting_rule(ffi.addressof(r), buffer, 512)),
                           default=text(r.fallback), help=help_of(r), used_by=text(r.used_by)) for r in rows(table)]
        index += 1
    raise ArgumentError(f"there is no table '{name}'; there are {', '.join(known)}")


# Results.


def html(title: str, pairs) -> str:
    """A small table for notebooks."""
    from html import escape

    lines = "".join(f"<tr><th style='text-align:left'>{escape(str(k))}</th><td style='text-align:left'>{escape(show(v))}"
                    "</td></tr>" for k, v in pairs)
    return f"<table><caption>{escape(title)}</caption>{lines}</table>"


def show(x) -> str:
    """A value in a few characters."""
    if isinstance(x, np.ndarray):
        return np.array2string(x, precision=6, threshold=12, edgeitems=4)
    if isinstance(x, float):
        return "not known" if math.isnan(x) else f"{x:.6g}"
    if isinstance(x, dict):
        return ", ".join(f"{k} {show(v)}" for k, v in x.items())
    return str(x)


class Result:
    """What came out, under the names of `--json`; arrays are NumPy's, a number that does not exist is NaN."""

    _shown = ()

    def __init__(self, **members):
        self.__dict__.update(members)

    def __repr__(self):
        return "\n".join(f"{k:<11} {show(getattr(self, k))}" for k in self._shown)

    def _repr_html_(self):
        return html(type(self).__name__, [(k, getattr(self, k)) for k in self._shown])

    def to_dict(self) -> dict:
        """The members as a dictionary."""
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}


def axes(ax):
    """Matplotlib's axes, or new ones, with outer steps along them, which are whole."""
    ax = ax if ax is not None else need("matplotlib.pyplot", "matplotlib", "plots are made").subplots()[1]
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("outer steps")
    return ax


# Other people's packages, and files.


def need(module: str, package: str, what: str):
    """A module of a package that not everybody has, imported where it is used."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        if e.name and e.name.split(".")[0] != module.split(".")[0]:
            raise MissingPackage(f"{package} cannot be imported: {e}") from e
        raise MissingPackage(f"{what} with {package}, which is not installed: pip install {package}") from None


def may_write(path, mark: str, force: bool = False) -> None:
    """Raises where there is a file that does not have the mark of hvi's own, as the program does it."""
    call(lib.hvi_py_may_write, path_of(path), ffi.NULL if force else mark.encode())
