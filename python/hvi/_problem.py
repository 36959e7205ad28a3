"""Problems: built in, from files and texts, and of Python callables."""
import ctypes
import json
import os

import numpy as np

from . import _hvi
from ._core import ArgumentError, Fields, Frame, InputError, OutOfMemory, Result, call, chars, document, doubles
from ._core import check as raise_for
from ._core import ffi, html, known, lib, numbers, on_error, path_of, pointer, put, setting_text, text, vector, whole


class AnyProblem:
    """A problem of the library's: constant, and good for any number of solves in any thread.

    name, dim (parameters), out (outputs), players (names), theta0."""

    def __init__(self, c, name: str, **about):
        self._c = ffi.gc(c, lib.hvi_problem_free)
        self.name, self._about = name, about

    def __reduce__(self):
        raise TypeError("a problem is neither pickled nor copied; it is constant, and is made anew where another process needs it")

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return self._c.model.dim

    @property
    def out(self) -> int:
        """Number of outputs."""
        return self._c.model.out

    @property
    def players(self) -> list:
        """Names of the players, or None where they have none."""
        if self._c.players == ffi.NULL:
            return None
        return [text(self._c.players[k]) for k in range(self._c.model.block_count)]

    @property
    def theta0(self) -> np.ndarray:
        """Where a solve starts unless told otherwise."""
        return None if self._c.theta0 == ffi.NULL else vector(self._c.theta0, self.dim)

    def __repr__(self):
        counts = [(self.dim, "parameter"), (self.out, "output"), (self._c.model.block_count, "player")]
        return f"<hvi problem {self.name}: {', '.join(f'{n} {word}' + 's' * (n != 1) for n, word in counts)}>"


def _code(path: str):
    """The row of a shared library. Its code calls the library, whose names, and those alone, are made global."""
    ctypes.CDLL(_hvi.__file__, mode=ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD | os.RTLD_NOW)
    found = ffi.new("hvi_builtin **")
    call(lib.hvi_py_code, found, path_of(path))
    return found[0]


def _make(kind, name: str, options: dict, seed: int, instance: int) -> AnyProblem:
    """One of the library's, or of code; without a kind the library tells what names there are."""
    given = {k: setting_text(v) for k, v in options.items()}
    alive = [[ffi.new("char[]", chars(x, "an option")) for x in pair] for pair in given.items()]
    out, rest = ffi.new("hvi_problem **"), (ffi.new("hvi_option[]", alive), len(alive), seed, instance)
    if kind == ffi.NULL:
        call(lib.hvi_builtin_new, out, chars(name, "a problem"), *rest)
    else:
        call(lib.hvi_builtin_make, out, kind, *rest)
    return AnyProblem(out[0], name, kind=kind, instance=instance, options=given)


def _plain(x):
    """What JSON has no word for: arrays and NumPy's numbers."""
    if hasattr(x, "tolist"):
        return x.tolist()
    raise TypeError(f"a problem holds numbers, texts, lists and dictionaries, and not {type(x).__name__}")


def _parse(source, seed: int) -> AnyProblem:
    """A text, or a dictionary, which becomes one."""
    out, name = ffi.new("hvi_problem **"), "text" if isinstance(source, str) else "dict"
    try:
        source = source if isinstance(source, str) else json.dumps(source, default=_plain, indent=1)
    except (TypeError, ValueError) as e:
        raise InputError(f"dict: {e}") from None
    call(lib.hvi_problem_parse, out, chars(source, "a problem"), name.encode(), b".", seed, 0)
    return AnyProblem(out[0], name)


def _find(source: str, options: dict, seed: int, instance: int) -> AnyProblem:
    """By a name or a path, as the program finds it."""
    kind = lib.hvi_builtin_find(path_of(source))
    if kind == ffi.NULL and source.endswith(".so"):
        kind = _code(source)
    if kind != ffi.NULL or not ("/" in source or source.endswith((".yaml", ".yml", ".c")) or os.path.exists(source)):
        return _make(kind, source, options, seed, instance)
    _refuse_choices(options, instance)
    out = ffi.new("hvi_problem **")
    call(lib.hvi_problem_load, out, path_of(source), seed, 0)
    return AnyProblem(out[0], os.fsencode(source).decode(errors="backslashreplace"))


def _refuse_choices(options, instance) -> None:
    if options or instance:
        raise ArgumentError("options and instance are for built-in problems and code, by their name")


def _set_precision(p: AnyProblem, name: str) -> None:
    kind = getattr(lib, f"HVI_PRECISION_{str(name).upper()}", None)
    if kind is None:
        raise ArgumentError(f"precision: must be double, single or reference, not '{name}'")
    changed = ffi.new("size_t *")
    call(lib.hvi_model_set_precision, p._c.model, kind, changed)
    if changed[0] == 0 and kind != lib.HVI_PRECISION_DOUBLE:
        raise ArgumentError(f"precision {name} is for players with fixed inputs, and {p.name} has none")


def problem(source, *, options: dict = None, seed: int = 1, instance: int = 0, precision: str = None) -> AnyProblem:
    """A problem from what there is of it, for any number of solves.

    source: the name of a built-in problem; the path of a YAML file or of a shared library (.so); a dictionary with the
        keys of a game file or of a Markov process; or such a file's text, which has more than one line.
    options: of a built-in problem or of code, as `--set` has them. seed, instance: 0 is the fixed instance, others are
    drawn. precision: 'single' for networks of games."""
    seed, instance = whole(seed, "seed"), whole(instance, "instance")
    if isinstance(source, AnyProblem):
        if options or instance or precision is not None:
            raise ArgumentError("options, instance and precision are chosen where a problem is made: hvi.problem")
        return source
    if not isinstance(source, (dict, str, bytes, os.PathLike)):
        raise ArgumentError(f"a problem is a name, a path, a dictionary, a text or an hvi.Problem, not {source!r}")
    if not isinstance(options or {}, dict):
        raise ArgumentError(f"options must be a dictionary, not {options!r}")
    if not isinstance(source, dict):
        source = os.fsdecode(source)
    if isinstance(source, dict) or "\n" in source:
        _refuse_choices(options, instance)
        made = _parse(source, seed)
    else:
        made = _find(source, options or {}, seed, instance)
    if precision is not None:
        _set_precision(made, precision)
    return made


class Problem(AnyProblem):
    """A problem of Python callables on NumPy arrays: an operator F, and a model g with both products of its Jacobian.

    F(z): the operator, as many numbers as z has; with theta_in_F=True it is F(z, theta).
    g(theta): the outputs z. vjp(theta, u): J'u, as many numbers as theta. jvp(theta, v): J v, as many as z.
    theta0: where a solve starts.
    Several players: lists of g, vjp, jvp and theta0, one each; z and theta are then theirs one after the other.
    sets: what the outputs can reach: None (everything), "simplex", or (lower, upper); with players a list of these.
    solution: z where it is known. weights: the diagonal of Xi. eta: a step size that suits. players: names.

    check() compares the derivatives with differences, and more. What a callable raises ends the solve and is raised
    there. Callables are called by the thread that solves, one at a time."""

    def __init__(self, F, g, vjp, jvp, theta0, *, sets=None, solution=None, weights=None, eta: float = 0.0,
                 players=None, theta_in_F: bool = False, name: str = "problem"):
        parts = [g, vjp, jvp, theta0]
        if not callable(F):
            raise InputError("F must be callable")
        if callable(g):
            parts, sets = [[p] for p in parts], [sets]
        elif sets is None and isinstance(g, (list, tuple)):
            sets = [None] * len(g)
        if not all(isinstance(p, (list, tuple, np.ndarray)) for p in [*parts, sets]) or len(set(map(len, [*parts, sets]))) != 1:
            raise InputError("g, vjp, jvp, theta0 and sets are lists of one length, an entry for each player")
        self._F, self._theta_in_F = F, theta_in_F
        self._theta0 = [doubles(t, "theta0").copy() for t in parts[3]]
        self._models = [_Model(*m) for m in zip(*parts[:3], self._theta0)]
        self._keep = [ffi.new_handle(self), *(ffi.new_handle(m) for m in self._models)]
        self._n, self._d = sum(m.out for m in self._models), sum(m.dim for m in self._models)
        c = lib.hvi_py_problem(self._keep[0], self._model())
        if c == ffi.NULL:
            raise OutOfMemory("out of memory for a problem")
        super().__init__(c, name)
        c.theta0 = self._numbers(np.concatenate(self._theta0), "theta0", self._d)
        c.solution = self._numbers(solution, "solution", self._n)
        c.weights = self._numbers(weights, "weights", self._n)
        c.eta = float(doubles(eta, "eta", 1)[0])
        self._set_players(c, players)
        self._set_sets(c, sets)
        call(lib.hvi_problem_check, ffi.NULL, c, ffi.NULL)

    def _model(self):
        """One model, or the players side by side, which the library puts together."""
        made = [lib.hvi_py_model(h, m.dim, m.out) for h, m in zip(self._keep[1:], self._models)]
        if len(made) == 1:
            return made[0]
        out = ffi.new("hvi_model **")
        call(lib.hvi_players_new, out, len(made), ffi.new("hvi_model *[]", made))
        return out[0]

    def _numbers(self, x, name: str, count: int):
        if x is None:
            return ffi.NULL
        self._keep.append(doubles(x, name, count).copy())
        return pointer(self._keep[-1])

    def _bound(self, x, count: int):
        """A bound for each output, or one for all of them."""
        x = doubles(x, "a bound")
        return self._numbers(np.repeat(x, count) if x.size == 1 else x, "a bound", count)

    def _set_players(self, c, players) -> None:
        if players is None:
            return
        if isinstance(players, str) or len(players) != len(self._models):
            raise InputError(f"players must be a list of names, one for each of {len(self._models)}, not {players!r}")
        names = [ffi.new("char[]", chars(str(p), "the name of a player")) for p in players]
        self._keep += [names, ffi.new("char *[]", names)]
        c.players = ffi.cast("const char *const *", self._keep[-1])

    def _set_sets(self, c, sets) -> None:
        made, begin = ffi.new("hvi_set[]", len(sets)), 0
        for m, given, to in zip(self._models, sets, made):
            to.begin, to.len = begin, m.out
            begin += m.out
            if given is None:
                to.kind = lib.HVI_SET_FREE
            elif isinstance(given, str) and given == "simplex":
                to.kind = lib.HVI_SET_SIMPLEX
            elif isinstance(given, (tuple, list, np.ndarray)) and len(given) == 2:
                to.kind = lib.HVI_SET_BOX
                to.lower, to.upper = (self._bound(b, m.out) for b in given)
            else:
                raise InputError(f"a set is None, 'simplex' or (lower, upper), not {given!r}")
        self._keep.append(made)
        c.sets, c.set_count = made, len(sets)

    def check(self, **settings) -> "Check":
        """hvi.check of this problem."""
        return check(self, **settings)


class _Model:
    """A player: its three callables and its sizes."""

    def __init__(self, g, vjp, jvp, theta0):
        for name, f in (("g", g), ("vjp", vjp), ("jvp", jvp)):
            if not callable(f):
                raise InputError(f"{name} must be callable")
        self.g, self.vjp, self.jvp = g, vjp, jvp
        self.dim = theta0.size
        self.out = doubles(g(theta0.copy()), "g(theta0)").size


def _answer(to, count: int, name: str, function, *arguments) -> None:
    """Writes function(*arguments) to doubles[count] of the library's; NaN where it fails."""
    out = np.frombuffer(ffi.buffer(to, 8 * count))
    out.fill(np.nan)
    if Frame.now().error is None:
        result = numbers(function(*arguments), f"what {name} returned")
        if result.size != count or result.ndim > 1:
            raise InputError(f"{name} returned an array of shape {result.shape}, and must return {count} numbers")
        out[:] = result


def _seen(x, count: int) -> np.ndarray:
    """A copy, which a callable may keep."""
    return np.frombuffer(ffi.buffer(x, 8 * count)).copy()


@ffi.def_extern(onerror=on_error)
def hvi_py_on_F(handle, theta, z, f):
    p = ffi.from_handle(handle)
    arguments = [_seen(z, p._n)]
    if p._theta_in_F:
        arguments.append(_seen(theta, p._d))
    _answer(f, p._n, "F", p._F, *arguments)


@ffi.def_extern(onerror=on_error)
def hvi_py_on_g(handle, theta, z):
    m = ffi.from_handle(handle)
    _answer(z, m.out, "g", m.g, _seen(theta, m.dim))


@ffi.def_extern(onerror=on_error)
def hvi_py_on_vjp(handle, theta, u, out):
    m = ffi.from_handle(handle)
    _answer(out, m.dim, "vjp", m.vjp, _seen(theta, m.dim), _seen(u, m.out))


@ffi.def_extern(onerror=on_error)
def hvi_py_on_jvp(handle, theta, v, out):
    m = ffi.from_handle(handle)
    _answer(out, m.out, "jvp", m.jvp, _seen(theta, m.dim), _seen(v, m.dim))


class Check(Result):
    """What hvi.check found: the members of `hvi check --json`, but for words about players and settings of a solve."""

    _shown = ("passed", "failed", "warnings", "operator")

    def __repr__(self):
        marks = [f"{t.verdict:<8}{t.name:<12}{t.text or t.what}" for t in self.tests]
        return "\n".join([*marks, super().__repr__()])

    def _repr_html_(self):
        return super()._repr_html_() + html("tests", [(t.name, f"{t.verdict}: {t.text or t.what}") for t in self.tests])


_KINDS = ("unknown", "not monotone", "monotone", "strongly monotone")


def check(source, *, options: dict = None, seed: int = 1, instance: int = 0, **settings) -> Check:
    """Is a problem what it says it is? Derivatives against differences, sets, monotonicity, at random points.

    source, options, seed, instance: as in hvi.problem. A structure that is wrong is raised; a test that fails is in the
    report, with its one line in `tests`.
    Settings:
    """
    s, table = ffi.new("hvi_check_settings *", lib.hvi_check_defaults()), lib.hvi_check_table()
    known("check", settings, check.__kwdefaults__, table)
    p = problem(source, options=options, seed=seed, instance=instance)
    s.seed = whole(seed, "seed")
    for name, value in settings.items():
        put(table, s, name, value)
    report, err, pair = ffi.new("hvi_check *"), ffi.new("hvi_error *"), np.full((2, p.out), np.nan)
    s.pair = pointer(pair)
    with Frame() as frame:
        status = lib.hvi_problem_check(report, p._c, s, err)
        frame.settle()
    if status and not report.failed:
        raise_for(status, err)
    c, m, worst = report.constants, p._c.model, report.monotonicity == lib.HVI_NOT_MONOTONE
    operator = Fields(
        affine=report.affine, reads_theta=report.theta_in_F, zero_sum=report.zero_sum, stochastic=p._c.ops.draw != ffi.NULL,
        kind=_KINDS[report.monotonicity], mu=c.mu, lipschitz=c.lipschitz, exact=c.exact, pairs=report.pairs,
        mu_pairs=report.mu, lipschitz_pairs=report.lipschitz, x=pair[0] if worst else None, y=pair[1] if worst else None)
    tests = [Fields(name=text(t.name), what=text(t.what), verdict=text(lib.hvi_check_verdict_name(t.verdict)),
                    worst=t.worst, limit=t.limit, text=text(t.text) or None) for t in report.results]
    players = [Fields(name=p.players[k] if p.players else f"player {k + 1}", parameters=m.blocks[k].dim, outputs=m.blocks[k].out)
               for k in range(m.block_count)]
    return Check(problem=p.name, passed=report.failed == 0, failed=report.failed, warnings=report.warned, parameters=p.dim,
                 outputs=p.out, players=players, operator=operator, solution_known=p._c.solution != ffi.NULL, tests=tests)


document(check, "seed", lib.hvi_check_table())
