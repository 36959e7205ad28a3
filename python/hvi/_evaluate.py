"""Policy evaluation: transitions in arrays, or of an environment, to a value network and how good it is."""
import os
import tempfile

import numpy as np

from ._core import ArgumentError, Fields, InputError, Result, axes, call, chars, check, document, ffi, find, get
from ._core import known, lib, may_write, numbers, own, path_of, pointer, put, stops, text, vector, whole
from .data import COLUMNS, collect, dataset
from ._solve import SLICE, TABLE, apply_method, settings_fields, take

VALUE, EVALUATION = lib.hvi_value_table(), lib.hvi_evaluation_table()
MARK = '"contents":"value network"'  # of the program's own files of this kind
NAMES = {"error": "error", "without_noise": "clean", "without_noise_interval": "clean_interval",
         "relative_without_noise": "relative_clean", "mean_value": "mean", "rms_value": "size"}


class _Spec:
    """Keywords to the spec of an evaluation; what they leave open is the library's, as `hvi evaluate` has it."""

    def __init__(self, method: str, steps: int, from_data: bool, given: dict):
        self.spec = ffi.new("hvi_evaluation_spec *", lib.hvi_evaluation_defaults())
        self.spec.gap_per_decade = lib.HVI_EVALUATION_GAPS
        ours = lib.hvi_evaluation_settings()
        self.s, asked = ffi.new("hvi_settings *", lib.hvi_method_settings(b"gd")), ffi.new("hvi_settings *", ours)
        self.method = method or text(ours.optimizer.name)
        solver = self._put(asked, given)
        self.s.seed = self.spec.seed
        apply_method(self.s, self.method, lib.hvi_value_rules())
        take(self.s, asked, self.method, solver)
        names = [ffi.new("char[]", k.rstrip("_").replace("-", "_").encode()) for k in given]
        call(lib.hvi_evaluation_choose, self.spec, self.s, self.method.encode(),
             ffi.new("char *[]", [*names, ffi.NULL]), from_data)
        self.s.max_outer = ours.max_outer if steps is None else whole(steps, "steps", 1)
        self.spec.settings = self.s

    def _put(self, asked, given: dict) -> list:
        """Each to the table that has it; returns those of the solver."""
        solver = []
        for name, value in given.items():
            if find(VALUE, name):
                put(VALUE, ffi.addressof(self.spec, "value"), name, value)
            elif find(EVALUATION, name):
                put(EVALUATION, self.spec, name, value)
            else:
                put(TABLE, asked, name, value)
                solver.append(name)
        return solver


def _probe(testset, gamma: float):
    """States with values, from a file or from arrays; with what keeps them alive."""
    if isinstance(testset, (str, bytes, os.PathLike)):
        made, out = ffi.new("hvi_testset **"), ffi.new("hvi_probe **")
        call(lib.hvi_testset_load, made, path_of(testset))
        kept = ffi.gc(made[0], lib.hvi_testset_free)
        call(lib.hvi_probe_of_testset, out, kept)
        return own(out[0], lib.hvi_probe_free, kept), kept
    names = ("obs", "value", "standard_error")
    given = testset if isinstance(testset, dict) else dict(zip(names, testset)) if isinstance(testset, (tuple, list)) else {}
    if not set(names[:2]) <= set(given) <= set(names):
        raise InputError("a test set is a file, or (obs, value), or (obs, value, standard_error)")
    obs, value = numbers(given["obs"], "obs", np.float32), numbers(given["value"], "value")
    noise = numbers(given.get("standard_error", 0.0), "standard_error")
    if obs.ndim != 2 or len(obs) == 0 or value.shape != obs.shape[:1] or noise.shape not in (value.shape, ()):
        raise InputError("a test set has obs [states][obs], value [states] and standard_error [states]; here are "
                         f"{obs.shape}, {value.shape} and {noise.shape}")
    if not (np.isfinite(obs).all() and np.isfinite(value).all() and np.isfinite(noise).all() and (noise >= 0).all()):
        raise InputError("a test set has finite numbers, and standard errors of 0 or more")
    noise = np.resize(noise, value.shape)
    probe = ffi.new("hvi_probe *", dict(states=len(value), obs=obs.shape[1], observation=pointer(obs, "float"),
                                        value=pointer(value), standard_error=pointer(noise), gamma=gamma))
    return probe, (obs, value, noise)


class Value:
    """A value function: called with states [n][obs], or with one, it gives their values.

    network (inputs, hidden, activation, normalise), gamma; save() writes the file that `hvi evaluate` writes."""

    def __init__(self, problem, theta: np.ndarray, network: Fields, gamma: float, keep):
        self._problem, self._theta, self._keep = problem, theta, keep
        self.network, self.gamma = network, gamma

    @property
    def theta(self) -> np.ndarray:
        """The parameters of the network, as a copy."""
        return self._theta.copy()

    def __call__(self, obs) -> np.ndarray:
        x = numbers(obs, "states", np.float32)
        if x.ndim not in (1, 2) or x.shape[-1] != self.network.inputs:
            raise InputError(f"states have shape {x.shape}, and must have {self.network.inputs} numbers each")
        count = 1 if x.ndim == 1 else len(x)
        values = np.empty(count)
        call(lib.hvi_value_predict, self._problem, pointer(self._theta), pointer(x, "float"), count, pointer(values))
        return values[0] if x.ndim == 1 else values

    def save(self, path, *, force: bool = False) -> None:
        """The network as .safetensors, with its scales as notes. force: replaces a file that hvi did not make for this."""
        may_write(path, MARK, force)
        call(lib.hvi_value_save, self._problem, pointer(self._theta), path_of(path))

    def __reduce__(self):
        """For pickle and copy: what its file would say, and the parameters."""
        return _rebuild, (parts_of(self), self.theta)

    def __repr__(self):
        widths = "-".join(str(w) for w in (self.network.inputs, *self.network.hidden, 1))
        return f"<hvi value function: network {widths} {self.network.activation}, gamma {self.gamma:g}>"


class Evaluation(Result):
    """What hvi.evaluate found: the members of `hvi evaluate --json`, `value` (a callable) and `trace`.

    r(states) is r.value(states)."""

    _shown = ("gamma", "status", "outer", "network", "score", "bellman", "counts", "seconds")

    def __call__(self, obs):
        return self.value(obs)

    def save(self, path, *, force: bool = False) -> None:
        """The network as .safetensors; hvi.load_value reads it. force: replaces a file that hvi did not make for this."""
        self.value.save(path, force=force)

    def plot(self, ax=None, column: str = None):
        """A column of the trace over the outer steps: the error, else the gap, else the loss."""
        ax, t = axes(ax), self.trace
        column = column or next((c for c in ("error", "gap", "loss") if np.isfinite(t[c]).any()), "loss")
        ax.semilogy(t["outer"], t[column], label=column)
        ax.legend()
        return ax


def _trace(e) -> np.ndarray:
    """The measurements, a row each, under the columns of the program's CSV."""
    names = []
    while (name := lib.hvi_evaluation_column(len(names))) != ffi.NULL:
        names.append(text(name))
    count = ffi.new("size_t *")
    found = lib.hvi_evaluation_rows(e, count)
    made = np.empty(count[0], [(n, np.float64) for n in names])
    for i in range(count[0]):
        made[i] = tuple(lib.hvi_evaluation_cell(found + i, k) for k in range(len(names)))
    return made


def _score(s) -> Fields:
    if s.states == 0:
        return None
    out = Fields((name, getattr(s, NAMES.get(name, name))) for name in (
        "states", "episodes", "error", "error_low", "error_high", "interval", "noise", "without_noise",
        "without_noise_interval", "variance", "relative", "relative_without_noise", "mean_value", "rms_value",
        "intercept", "slope", "correlation", "noise_share", "too_noisy"))
    for which in ("usual", "rare"):
        c = getattr(s, which)
        out.update({f"states_{which}": c.states, f"error_{which}": c.error, f"noise_{which}": c.noise})
    return out


def _steps(e, callback) -> None:
    """Outer steps to the end; between slices Python looks at its signals, and the callback at the last row."""
    status, err, count = ffi.new("hvi_status *"), ffi.new("hvi_error *"), ffi.new("size_t *")
    seen = 0
    while True:
        done = lib.hvi_py_evaluate(e, 0.0 if callback else SLICE, status, err)
        check(status[0], err)
        found = lib.hvi_evaluation_rows(e, count)
        if callback and count[0] > seen:
            seen, row = count[0], found[count[0] - 1]
            if stops(callback(Fields((n, getattr(row, n)) for n, _ in ffi.typeof("hvi_evaluation_row").fields))):
                return
        if done:
            return


def _network(v, inputs: int, activation, normalise) -> Fields:
    return Fields(inputs=inputs, hidden=[v.hidden[i] for i in range(v.hidden_count)],
                  activation=text(lib.hvi_activation_name(activation)), normalise=normalise)


def _environment(spec, env: str, policy, steps: int, threads: int) -> list:
    """A built-in environment, a policy for it, and a stream of their transitions."""
    out, made = ffi.new("hvi_env **"), ffi.new("hvi_policy **")
    call(lib.hvi_env_new, out, chars(env, "env"))
    kept = [ffi.gc(out[0], lib.hvi_env_free)]
    if not isinstance(policy, (str, bytes, os.PathLike)):
        raise ArgumentError(f"the policy of a built-in environment is 'default' or a file, not {policy!r}")
    if policy == "default":
        call(lib.hvi_policy_of_env, made, kept[0])
    else:
        call(lib.hvi_policy_load, made, path_of(policy))
    kept.append(ffi.gc(made[0], lib.hvi_policy_free))
    call(lib.hvi_policy_fit, kept[1], kept[0])
    v, collector = spec.value, ffi.new("hvi_collector **")
    batch = v.batch
    v.draw, v.batch = lib.HVI_VALUE_FRESH, batch + v.replay
    call(lib.hvi_collector_new, collector, kept[0], kept[1], spec.seed, threads, (v.buffer + steps + 1) * batch)
    kept.append(own(collector[0], lib.hvi_collector_free, *kept))
    spec.stream = lib.hvi_stream_of_collector(kept[2])
    v.data = lib.hvi_collector_data(kept[2])
    return kept


def _data(spec, source, gap: bool, gap_rows: int) -> list:
    """Arrays, or the path of a file, as the data of an evaluation."""
    data, v = dataset(source), spec.value
    v.data = data
    v.draw = lib.HVI_VALUE_RANDOM if 0 < v.batch < data.count else lib.HVI_VALUE_ALL
    first = ffi.new("hvi_dataset *", data[0])
    first.count = min(data.count, gap_rows or data.count)
    if gap:
        spec.gap = first
    return [data, first]


def evaluate(*, data=None, obs=None, reward=None, next_obs=None, terminated=None, truncated=None, done=None, action=None,
             env=None, policy=None, transitions: int = 100000, method: str = None, steps: int = None, testset=None,
             gap: bool = False, gap_rows: int = lib.HVI_EVALUATION_ROWS, threads: int = 1, callback=None,
             **settings) -> Evaluation:
    """The value function of a policy from its transitions, by the projected Bellman error, and how good it is.

    data: a dictionary of arrays (hvi.data.from_minari, hvi.collect, ...), or a file that `hvi evaluate --data` reads.
    Arrays: obs [n][obs], reward [n], next_obs [n][obs], and terminated [n] or done [n]; truncated and action where they
        are known. next_obs may be missing where truncated tells the ends of episodes (docs/data-files.md).
    env and policy: an environment with Gymnasium's reset and step, or several side by side (gymnasium.vector), and a
        function from observations to actions; so many `transitions` are collected here and then used as arrays. Or the
        name of a built-in environment ('lqr', 'pendulum', ...) and a policy's file or 'default', which is simulated by
        the library as it goes.
    method: 'adamw' unless given. steps: outer steps (200).
    testset: a file, or (obs, value) or (obs, value, standard_error), to measure the error with.
    gap: of data the Bellman gap at measurements, on the first gap_rows rows (0: all).
    threads: that share the work, with the same bits for any number; 0: one per core.
    callback: is called after each measurement with its row; False ends the run.

    Ctrl-C is seen between outer steps, and in Python's environments, policies and callbacks.
    Settings (lambda_ stands for lambda):
    """
    arrays = {k: v for k, v in zip(COLUMNS, (obs, action, reward, next_obs, terminated, truncated, done)) if v is not None}
    if (data is not None) + (env is not None) + bool(arrays) != 1:
        raise ArgumentError("evaluate takes data, or arrays (obs, reward, next_obs, terminated), or env and policy, "
                            "and not both")
    built_in = isinstance(env, str)
    if (policy is not None and env is None) or (gap and built_in):
        raise ArgumentError("policy goes with env, and gap with data")
    if callback is not None and not callable(callback):
        raise ArgumentError(f"callback must be a function of a row, not {callback!r}")
    known("evaluate", settings, evaluate.__kwdefaults__, VALUE, EVALUATION, TABLE)
    made = _Spec(method, steps, not built_in, settings)
    spec, batch = made.spec, made.spec.value.batch
    threads = whole(threads, "threads") or os.cpu_count()
    spec.value.threads = threads
    source = collect(env, policy, transitions, spec.seed) if env is not None and not built_in else arrays or data
    kept = _environment(spec, env, policy, made.s.max_outer, threads) if built_in else _data(
        spec, source, gap, whole(gap_rows, "gap_rows"))
    if testset is not None:
        probe, alive = _probe(testset, spec.value.gamma)
        spec.probe, kept = probe, [*kept, probe, alive]
    out = ffi.new("hvi_evaluation **")
    call(lib.hvi_evaluation_new, out, spec)
    e = own(out[0], lib.hvi_evaluation_free, made, kept)
    _steps(e, callback)
    return _finish(e, made, batch)


def _finish(e, made: _Spec, batch: int) -> Evaluation:
    result, now, v = ffi.new("hvi_evaluation_result *"), lib.hvi_evaluation_state(e), made.spec.value
    call(lib.hvi_evaluation_judge, e, result)
    p, last, g = lib.hvi_evaluation_problem(e), result.last, result.gap
    network = _network(v, v.data.obs, v.activation, get(find(EVALUATION, "normalise"), made.spec))
    theta = vector(lib.hvi_evaluation_theta(e), p.model.dim)
    settings = Fields(batch=batch)
    for name in ("replay", "double_sampling", "lambda", "lambda_decay", "returns"):
        settings[name] = get(find(VALUE, name), ffi.addressof(made.spec, "value"))
    settings.update(polyak=made.spec.polyak, **settings_fields(made.s, made.method, made.spec.seed, made.s.eta, p.model))
    return Evaluation(
        gamma=v.gamma, status=text(lib.hvi_outcome_name(now.outcome)) if now.done else "stopped", reason=text(now.reason),
        outer=now.outer, inner=now.inner_total, level=text(now.levels), network=network, score=_score(result.score),
        bellman=Fields(gap=g.gap, error=g.error, least=g.least, transitions=result.gap_rows),
        counts=Fields(grad_evals=last.grad_evals, model_passes=last.model_passes, env_steps=last.env_steps),
        seconds=Fields(collection=last.seconds_collect, targets=last.seconds_targets, inner=last.seconds_inner,
                       run=last.seconds, measuring=last.seconds_measure),
        settings=settings, trace=_trace(e), value=Value(p, theta, network, v.gamma, e))


def _read_value(path) -> Fields:
    """What a value network's file says: layers [(weight, bias)], activation, gamma, and the scales."""
    out = ffi.new("hvi_tensors **")
    call(lib.hvi_tensors_read, out, path_of(path), 0)
    file = ffi.gc(out[0], lib.hvi_tensors_free)

    def note(key, default=None):
        found = text(lib.hvi_tensors_note(file, key.encode()))
        if found is None and default is None:
            raise InputError(f"'{path}' has no note '{key}': it is no value network of hvi")
        return default if found is None else found

    def numbers(t):
        a = np.empty(lib.hvi_tensor_count(t))
        call(lib.hvi_tensor_doubles, pointer(a), t)
        return a.reshape([t.shape[k] for k in range(t.dims)])

    found = {text(file.items[i].name): file.items[i] for i in range(file.count)}
    order = sorted(int(n.split(".")[0]) for n in found if n.endswith(".weight") and n[0].isdigit())
    if not order:
        raise InputError(f"'{path}' has no layers 0.weight, 2.weight, ...")
    layers = [[numbers(ffi.addressof(found[f"{k}.{part}"])) for part in ("weight", "bias")] for k in order]
    center, spread = (np.array(note(k, "").split(), float) for k in ("center", "spread"))
    return Fields(layers=layers, activation=note("activation"), gamma=float(note("gamma")), shift=float(note("shift", "0")),
                  scale=float(note("scale", "1")), center=center if center.size else None,
                  spread=spread if spread.size else None)


def parts_of(value: Value) -> Fields:
    """What a value function is made of, as its file would say it."""
    with tempfile.TemporaryDirectory(prefix="hvi-") as folder:
        path = os.path.join(folder, "value.safetensors")
        value.save(path)
        return _read_value(path)


def load_value(path) -> Value:
    """A value network that `hvi evaluate` or save() wrote, as a callable."""
    made = _rebuild(_read_value(path))
    call(lib.hvi_mlp_load, made._problem.model, pointer(made._theta), path_of(path))
    return made


def _rebuild(parts: Fields, theta=None) -> Value:
    """A value function of these parts; without theta its parameters are yet to be loaded."""
    spec = ffi.new("hvi_value_spec *", lib.hvi_value_defaults())
    inputs = parts.layers[0][0].shape[1]
    row = np.zeros((1, inputs), np.float32)
    data = dataset(dict(obs=row, reward=np.zeros(1, np.float32), next_obs=row, terminated=np.ones(1, bool)))
    put(VALUE, spec, "activation", parts.activation)
    put(VALUE, spec, "hidden", [len(bias) for _, bias in parts.layers[:-1]] or None)
    spec.data, spec.gamma, spec.draw = data, parts.gamma, lib.HVI_VALUE_ALL
    spec.shift, spec.scale = parts.shift, parts.scale
    if parts.center is not None:
        spec.center, spec.spread = pointer(parts.center), pointer(parts.spread)
    problem = ffi.new("hvi_problem **")
    call(lib.hvi_value_new, problem, spec, 1)
    p = own(problem[0], lib.hvi_problem_free, data)
    network = _network(spec, inputs, spec.activation, "all" if parts.center is not None else "none")
    return Value(p, np.empty(p.model.dim) if theta is None else theta.copy(), network, spec.gamma, p)


document(evaluate, "draw threads iters tol max_evals stall_window growth_bound alternating trace_decay error_alpha error_angle "
         "seed", VALUE, EVALUATION, TABLE)
