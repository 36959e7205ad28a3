"""Problems: built in, from files and texts, and of Python callables."""
import json
import os

import numpy as np

from ._core import Fields, Frame, InputError, OutOfMemory, Result, call, describe, doubles, ffi, lib, on_error
from ._core import check as raise_for
from ._core import pointer, put, setting_text, text, vector


class AnyProblem:
    """A problem of the library's: constant, and good for any number of solves in any thread.

    name, dim (parameters), out (outputs), players (names), theta0."""

    def __init__(self, c, name: str, **about):
        self._c = ffi.gc(c, lib.hvi_problem_free)
        self.name, self._about = name, about

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
        return f"<hvi problem {self.name}: {self.dim} parameters, {self.out} outputs, {self._c.model.block_count} blocks>"


def _builtin(name: str, options: dict, seed: int, instance: int) -> AnyProblem:
    texts = [(k.encode(), setting_text(v).encode()) for k, v in (options or {}).items()]
    alive = [[ffi.new("char[]", x) for x in pair] for pair in texts]
    given = ffi.new("hvi_option[]", alive)
    out = ffi.new("hvi_problem **")
    call(lib.hvi_builtin_new, out, name.encode(), given, len(alive), seed, instance)
    return AnyProblem(out[0], name, kind=lib.hvi_builtin_find(name.encode()), instance=instance,
                      options={k: setting_text(v) for k, v in (options or {}).items()})


def _load(path: str, seed: int) -> AnyProblem:
    out = ffi.new("hvi_problem **")
    if path.endswith(".so"):
        _show_library()
    call(lib.hvi_problem_load, out, os.fsencode(path), seed, 0)
    return AnyProblem(out[0], path)


def _show_library() -> None:
    """Problems that are code call the library: its names, and those alone, are made global."""
    import ctypes

    from . import _hvi

    ctypes.CDLL(_hvi.__file__, mode=ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD | os.RTLD_NOW)


def _plain(x):
    """What JSON has no word for: arrays and NumPy's numbers."""
    if hasattr(x, "tolist"):
        return x.tolist()
    raise TypeError(f"a problem holds numbers, texts, lists and dictionaries, and not {type(x).__name__}")


def _parse(game, seed: int, name: str, folder: str) -> AnyProblem:
    out = ffi.new("hvi_problem **")
    source = game if isinstance(game, str) else json.dumps(game, default=_plain, indent=1)
    call(lib.hvi_problem_parse, out, source.encode(), name.encode(), os.fsencode(folder), seed, 0)
    return AnyProblem(out[0], name)


def problem(source, *, options: dict = None, seed: int = 1, instance: int = 0) -> AnyProblem:
    """A problem from what there is of it.

    source: the name of a built-in problem; the path of a YAML file or of a shared library (.so); a dictionary with the
        keys of a game file or of a Markov process; or such a file's text, which has more than one line.
    options: of a built-in problem, as `--set` has them. seed, instance: 0 is the fixed instance, others are drawn."""
    if isinstance(source, AnyProblem):
        return source
    if isinstance(source, dict):
        return _parse(source, seed, "dict", ".")
    source = os.fspath(source)
    if "\n" in source:
        return _parse(source, seed, "text", ".")
    if lib.hvi_builtin_find(source.encode()) == ffi.NULL and (
            "/" in source or source.endswith((".yaml", ".yml", ".so", ".c")) or os.path.exists(source)):
        if options or instance:
            raise InputError(f"options and instance are for built-in problems, and '{source}' is a file")
        return _load(source, seed)
    return _builtin(source, options, seed, instance)


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
        if callable(g):
            parts, sets = [[p] for p in parts], [sets]
        else:
            sets = [None] * len(g) if sets is None else list(sets)
        if len({len(p) for p in [*parts, sets]}) != 1:
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
        c.eta = eta
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

    def _set_players(self, c, players) -> None:
        if players is None:
            return
        if len(players) != len(self._models):
            raise InputError(f"there are {len(self._models)} players, and {len(players)} names")
        names = [ffi.new("char[]", str(p).encode()) for p in players]
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
            elif isinstance(given, (tuple, list)) and len(given) == 2:
                to.kind = lib.HVI_SET_BOX
                to.lower, to.upper = (self._numbers(np.broadcast_to(b, m.out), "a bound", m.out) for b in given)
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
        result = np.asarray(function(*arguments), dtype=np.float64)
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
    """What hvi.check found: ok, failed, warned, tests (a list), affine, mu, lipschitz, monotonicity, ..."""

    _shown = ("ok", "failed", "warned", "affine", "mu", "lipschitz", "monotonicity")

    def __repr__(self):
        marks = [f"{t.verdict:<8}{t.name:<12}{t.text or t.what}" for t in self.tests]
        return "\n".join([*marks, super().__repr__()])


_MONOTONICITY = ("unknown", "not monotone", "monotone", "strongly monotone")


def check(source, *, options: dict = None, seed: int = 1, instance: int = 0, **settings) -> Check:
    """Is a problem what it says it is? Derivatives against differences, sets, monotonicity, at random points.

    source, options, seed, instance: as in hvi.problem. A structure that is wrong is raised; a test that fails is in the
    report, with its one line in `tests`.
    Settings:
    """
    p = problem(source, options=options, seed=seed, instance=instance)
    s, table = ffi.new("hvi_check_settings *", lib.hvi_check_defaults()), lib.hvi_check_table()
    s.seed = seed
    for name, value in settings.items():
        put(table, s, name, value)
    report, err = ffi.new("hvi_check *"), ffi.new("hvi_error *")
    with Frame() as frame:
        status = lib.hvi_problem_check(report, p._c, s, err)
        frame.settle()
    if status and not report.failed:
        raise_for(status, err)
    tests = [Fields(name=text(t.name), what=text(t.what), verdict=text(lib.hvi_check_verdict_name(t.verdict)),
                    worst=t.worst, limit=t.limit, text=text(t.text)) for t in report.results]
    c = report.constants
    return Check(problem=p.name, ok=report.failed == 0, failed=report.failed, warned=report.warned, tests=tests,
                 affine=report.affine, theta_in_F=report.theta_in_F, zero_sum=report.zero_sum, mu=report.mu,
                 lipschitz=report.lipschitz, pairs=report.pairs, monotonicity=_MONOTONICITY[report.monotonicity],
                 constants=Fields(mu=c.mu, lipschitz=c.lipschitz, exact=c.exact, pairs=c.pairs))


check.__doc__ += describe(lib.hvi_check_table(), "seed")
