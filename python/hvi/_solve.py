"""hvi.solve and hvi.inspect: a problem and a method from keywords to a result, in the order that the program keeps."""
import math
import struct

import numpy as np

from ._core import ArgumentError, Fields, Frame, OutOfMemory, Result, axes, call, chars, check, document, doubles
from ._core import ffi, find, get, known, lib, on_error, own, pointer, put, rows, stops, text, vector, whole
from ._problem import problem as make_problem

SLICE = 0.05  # seconds between two looks at signals
TABLE = lib.hvi_settings_table()
TRACE = np.dtype([(name, np.uint64 if name in ("outer", "inner", "f_evals", "model_passes", "grad_evals", "env_steps")
                   else np.float64) for name, _ in ffi.typeof("hvi_py_row").fields])


def _summaries(table) -> dict:
    """Names and lines of a list that ends in a name of NULL."""
    found, i = {}, 0
    while table[i].name != ffi.NULL:
        found[text(table[i].name)] = text(table[i].summary)
        i += 1
    return found


def methods() -> dict:
    """The named methods, each with a line about it."""
    return _summaries(lib.hvi_method_list())


def problems() -> dict:
    """The built-in problems, each with a line about it."""
    return _summaries(lib.hvi_builtin_list())


def apply_method(s, method: str, rules) -> None:
    """Makes settings those of a method."""
    if not lib.hvi_method_apply(s, chars(method, "a method"), rules):
        raise ArgumentError(f"unknown method '{method}'; hvi.methods() has them")


def take(s, asked, method: str, names) -> None:
    """What was asked for goes into the settings, whose method must use it."""
    for name in names:
        call(lib.hvi_settings_take, s, asked, find(TABLE, name), method.encode(), ffi.NULL)


class Setup:
    """A problem and the settings in force for it."""

    def __init__(self, asker, source, method: str, options, seed: int, instance: int, theta0, precision, settings: dict):
        known(asker.__name__, settings, asker.__kwdefaults__, TABLE)
        self.s, asked = (ffi.new("hvi_settings *", lib.hvi_settings_defaults()) for _ in range(2))
        s, self.method, self.seed = self.s, method, whole(seed, "seed")
        s.seed = self.seed
        apply_method(s, method, lib.hvi_trajectory_rules())
        for name, value in settings.items():
            put(TABLE, asked, name, value)
        take(s, asked, method, settings)
        self.problem = p = make_problem(source, options=options, seed=seed, instance=instance, precision=precision)
        self.theta0 = None if theta0 is None else doubles(theta0, "theta0", p.dim).copy()
        s.theta0 = ffi.NULL if theta0 is None else pointer(self.theta0)
        # what suits a problem suits its surrogates; a rule steps along single samples
        if not s.automatic and "eta" not in settings and p._c.eta > 0 and s.baseline != lib.HVI_BASELINE_RULE:
            s.eta = p._c.eta
        lib.hvi_settings_choose(s, p._c)
        if s.automatic:  # once more, since an optimizer is chosen now
            take(s, asked, method, settings)

    def fields(self, eta: float) -> Fields:
        """The settings in force, under the names of `--json`."""
        p = self.problem
        out = settings_fields(self.s, self.method, self.seed, eta, p._c.model)
        if p._about.get("kind"):
            out.update(instance=p._about["instance"], options=_options(p))
        out["theta0"] = p.theta0 if self.theta0 is None else self.theta0.copy()
        return out


def settings_fields(s, method: str, seed: int, eta: float, model) -> Fields:
    """Those of a solver that its method uses."""
    rules = ["fixed", *text(find(TABLE, "eta").choices).split("|")]
    out = Fields(method=method, optimizer=None if s.baseline else text(s.optimizer.name), eta=eta,
                 step_rule=rules[s.step_rule])
    family = lib.hvi_method_family(s)
    for row in rows(TABLE):
        at = ffi.addressof(row)
        if row.kind != lib.HVI_SETTING_SEED and text(row.name) != "eta" and lib.hvi_setting_used(at, family):
            out[text(row.name)] = get(at, s)
    out.update(seed=seed, precision="single" if model.noise > 0 else "double")
    return out


def _options(p) -> Fields:
    """Of a built-in problem: what was asked for, else the default, unless the instance draws its own."""
    kind, given, out = p._about["kind"], p._about["options"], Fields()
    for row in rows(kind.options) if kind.options != ffi.NULL else []:
        name = text(row.name)
        value = given.get(name, None if p._about["instance"] else text(row.fallback))
        if value is not None:
            try:
                out[name] = float(value)
            except ValueError:
                out[name] = value
    return out


_ROW = struct.Struct("".join("Q" if TRACE[name].kind == "u" else "d" for name in TRACE.names))


class Row(Fields):
    """A row of the trace as a callback sees it, with copies of theta and z."""


@ffi.def_extern(onerror=on_error, error=False)
def hvi_py_on_row(handle, row, theta, z):
    callback, dim, out = ffi.from_handle(handle)
    numbers = _ROW.unpack(ffi.buffer(row, _ROW.size))
    return not stops(callback(Row(zip(TRACE.names, numbers), theta=vector(theta, dim), z=vector(z, out))))


class Solution(Result):
    """What hvi.solve found: the members of `hvi solve --json`, `outcome` (the same as status), `trace`.

    trace is a structured array, a row for each outer step: pandas.DataFrame(r.trace) reads it."""

    _shown = ("problem", "method", "status", "reason", "outer", "residual", "dist2", "gap", "theta", "z")

    @property
    def outcome(self) -> str:
        """How it ended: converged, limit, stalled, diverged or stopped."""
        return self.status

    @property
    def converged(self) -> bool:
        """Whether the residual is within the tolerance, or at rounding."""
        return self.status == "converged"

    def plot(self, ax=None, columns=("residual", "dist2")):
        """Columns of the trace over the outer steps, on matplotlib's axes, which are returned."""
        if len(self.trace) == 0:
            raise ArgumentError("there is nothing to plot: the solve kept no trace")
        ax = axes(ax)
        for name in columns:
            y = self.trace[name]
            if np.isfinite(y).any():
                ax.semilogy(self.trace["outer"], y, label=name)
        ax.set_title(f"{self.problem}, method {self.method}")
        ax.legend()
        return ax


def _run(setup: Setup, trace, callback):
    """Steps to the end; the solver, what it left, and the watch with its rows."""
    s, p = setup.s, setup.problem
    if callback is not None and not callable(callback):
        raise ArgumentError(f"callback must be a function of a row, not {callback!r}")
    if trace not in (True, False, "full"):
        raise ArgumentError(f"trace must be True, False or 'full', not {trace!r}")
    watch = ffi.new("hvi_py_watch *", dict(keep=bool(trace), keep_points=trace == "full", dim=p.dim, out=p.out))
    watch = ffi.gc(watch, lib.hvi_py_watch_end)
    handle = ffi.new_handle((callback, p.dim, p.out)) if callback else None
    watch.callback = handle or ffi.NULL
    s.observe, s.observer_context = ffi.addressof(lib, "hvi_py_observe"), watch
    if not callback and not (s.max_outer or s.max_f_evals or s.max_seconds or s.tol):
        raise ArgumentError("nothing ends this solve: set iters, tol, max_evals or max_seconds, or a callback")
    out, err = ffi.new("hvi_solver **"), ffi.new("hvi_error *")
    with Frame(watch) as frame:
        status = lib.hvi_solver_new(out, p._c, s, err)
        solver = own(out[0], lib.hvi_solver_free, p, watch, handle, setup)
        frame.settle()
        check(status, err)
        while lib.hvi_py_run(solver, watch, SLICE) == lib.HVI_RUNNING and not watch.failed:
            pass  # Python looks at its signals here
        frame.settle()
    if watch.no_memory:
        raise OutOfMemory("out of memory for the trace; trace=False keeps none")
    return solver, watch


def _players(p, info) -> list:
    m, names = p._c.model, p.players
    if m.block_count == 1 and not names:
        return []
    blocks = [m.blocks[k] for k in range(m.block_count)]
    return [Fields(name=names[k] if names else None, theta=vector(info.last.theta + b.theta, b.dim),
                   z=vector(info.last.z + b.z, b.out)) for k, b in enumerate(blocks)]


def _trace(watch, dim: int, out: int) -> dict:
    count = watch.count
    made = np.empty(count, TRACE)
    if count:
        ffi.memmove(made.data, ffi.buffer(watch.rows, count * TRACE.itemsize), count * TRACE.itemsize)
    if not watch.keep_points:
        return dict(trace=made)
    points = vector(watch.points, count * (dim + out)).reshape(count, dim + out)
    return dict(trace=made, trace_theta=points[:, :dim].copy(), trace_z=points[:, dim:].copy())


def solve(problem, method: str = "auto", *, seed: int = 1, instance: int = 0, options: dict = None, theta0=None,
          precision: str = None, trace=True, callback=None, **settings) -> Solution:
    """Solves a problem, and judges what was found by code that shares nothing with the solver.

    problem: a name, a path, a dictionary or a text (see hvi.problem), or an hvi.Problem.
    method: 'auto', or one of hvi.methods().
    seed: of everything random.
    theta0: where to start. options, instance, precision: as hvi.problem has them; not with a problem that is made.
    trace: True keeps a row for each outer step; 'full' theta and z too (trace_theta, trace_z); False nothing.
    callback: is called with each row (a dictionary whose entries are attributes); False ends the solve.

    The GIL is released while the library works. Ctrl-C is seen between outer steps, and in callables.
    How a solve ended is in `status`; what cannot be carried out is an hvi.Error.

    Settings, as the program has them (lambda_ stands for lambda, None for 'none'):
    """
    setup = Setup(solve, problem, method, options, seed, instance, theta0, precision, settings)
    p, m = setup.problem, setup.problem._c.model
    solver, watch = _run(setup, trace, callback)
    info, judge = lib.hvi_solver_info(solver), ffi.new("hvi_certificate *")
    call(lib.hvi_problem_judge, judge, p._c, info.last.theta)
    c = info.last.counts
    best = Fields(outer=info.best_outer, residual=info.best_residual, dist2=info.best_dist2,
                  theta=vector(info.best_theta, p.dim), z=vector(info.best_z, p.out))
    return Solution(
        problem=p.name, dimensions=Fields(parameters=p.dim, outputs=p.out, players=m.block_count), method=method,
        status=text(lib.hvi_outcome_name(info.outcome)), reason=text(info.reason), outer=info.last.outer,
        inner=info.inner_total, restarts=info.restarts, dist2=judge.dist2, residual=judge.residual, gap=judge.gap,
        alpha_worst=info.alpha_worst, theta=vector(info.last.theta, p.dim), z=vector(info.last.z, p.out),
        players=_players(p, info), best=best, settings=setup.fields(info.eta),
        counts=Fields(f_evals=c.f_evals, model_passes=c.model_passes, grad_evals=c.grad_evals, env_steps=c.env_steps),
        seconds=info.last.seconds, **_trace(watch, p.dim, p.out))


class Inspection(Result):
    """What hvi.inspect found: the members of `hvi inspect --json`."""

    _shown = ("problem", "method", "verdict", "explanation", "advice", "constants", "rates", "run")


_COVERAGE = ("limit", "parameter_beta", "parameter_mu", "parameter_limit")


def _coverage(p) -> dict:
    """The contraction test of repeated risk minimisation, for problems whose data answer to the model."""
    c = ffi.new("hvi_performative_coverage *")
    if not lib.hvi_performative_cover(c, p._c):
        if p._c.ops.sensitivity == ffi.NULL:
            return {}
        c.limit = c.parameter_beta = c.parameter_mu = c.parameter_limit = math.nan
        p._c.ops.sensitivity(p._c, ffi.addressof(c, "beta"), ffi.addressof(c, "mu"))
    key = text(c.key)
    return dict(repeated_minimisation=Fields(
        beta=c.beta, mu=c.mu, ratio=c.beta / c.mu if c.mu else math.nan, covered=c.beta < c.mu, key=key,
        side=("below" if c.below else "above") if key else None, how=text(c.how),
        **{name: getattr(c, name) for name in _COVERAGE}))


def inspect(problem, method: str = "auto", *, steps: int = None, seed: int = 1, instance: int = 0, options: dict = None,
            theta0=None, precision: str = None, **settings) -> Inspection:
    """What theory says about a problem and a method, what a short run does, and what to change.

    steps: outer steps of the run (1000, or iters). Everything else is as in hvi.solve, Ctrl-C among it.
    """
    setup = Setup(inspect, problem, method, options, seed, instance, theta0, precision, settings)
    p, i = setup.problem, ffi.new("hvi_inspection *")
    if steps is None:
        steps = setup.s.max_outer if "iters" in settings and setup.s.max_outer else 1000
    steps = whole(steps, "steps", 1)
    # twenty times a second Python is called, and looks at its signals
    handle = ffi.new_handle((lambda row: True, p.dim, p.out))
    watch, err = ffi.new("hvi_py_watch *", dict(callback=handle, every=SLICE)), ffi.new("hvi_error *")
    setup.s.observe, setup.s.observer_context = ffi.addressof(lib, "hvi_py_observe"), watch
    with Frame(watch) as frame:
        status = lib.hvi_theory_inspect(i, p._c, setup.s, steps, err)
        frame.settle()
    check(status, err)
    c = i.constants
    rates = Fields((name, getattr(i.rates, name)) for name, _ in ffi.typeof("hvi_rates").fields)
    run = Fields(outcome=text(lib.hvi_outcome_name(i.outcome)), converging=i.converging, arrived=i.arrived, outer=i.outer,
                 restarts=i.restarts, dist2=i.dist2, residual=i.residual, alpha_median=i.alpha_median,
                 alpha_worst=i.alpha_worst, step_share=i.step_share, rate=i.rate_observed, rate_exact=i.rate_exact,
                 rate_of="residual2" if i.by_residual else "dist2")
    variants = [Fields((name, getattr(i.variants[k], name)) for name, _ in ffi.typeof("hvi_variant").fields)
                for k in range(i.variant_count)]
    return Inspection(
        problem=p.name, method=method, verdict=text(lib.hvi_verdict_name(i.verdict)),
        obstacle=text(lib.hvi_obstacle_name(i.obstacle)), explanation=text(i.explanation), advice=text(i.advice) or None,
        constants=Fields(mu=c.mu, lipschitz=c.lipschitz, exact=c.exact, pairs=c.pairs), **_coverage(p), rates=rates,
        run=run, variants=variants, settings=setup.fields(i.eta))


document(solve, "seed", TABLE)
