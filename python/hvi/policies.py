"""Policies: our files as callables, and checkpoints of Stable-Baselines3, CleanRL and d3rlpy as our files.

    hvi.policies.convert("sac.zip", "sac.safetensors")
    act = hvi.load_policy("sac.safetensors")
    act(obs)                                     # actions without noise

Only the container is changed: the library reads the trainers' own names (docs/evaluate.md, Policies of others), and
refuses by name what it does not have. A checkpoint of PyTorch can hold code: convert only those that you trust."""
import os
import pickle
import tempfile
import threading
import zipfile

import numpy as np

from ._core import ArgumentError, Fields, InputError, SystemFailure, call, ffi, lib, may_write, need, numbers, path_of, pointer
from ._core import put, text, whole
from .data import write

MARK = '"contents":"policy"'
KINDS = ("sb3", "cleanrl", "d3rlpy")
TABLE = lib.hvi_policy_table()
# names of PyTorch's modules; ELU and CELU are the same with alpha 1
ACTIVATIONS = {"Identity": "identity", "CELU": "celu", "ELU": "celu", "Sigmoid": "sigmoid", "Tanh": "tanh", "ReLU": "relu",
               "LeakyReLU": "leaky_relu", "GELU": "gelu", "Softplus": "softplus"}


class Policy:
    """A policy's file as a callable: observations [n][obs], or one, to actions without noise.

    obs, act: lengths of an observation and of an action. sample(obs) draws actions instead, from a generator of `seed`."""

    def __init__(self, path, seed: int = 1, **options):
        seed, self._drawing = whole(seed, "seed"), threading.Lock()
        chosen = ffi.new("hvi_policy_options *")
        for name, value in options.items():
            put(TABLE, chosen, name, value)
        out = ffi.new("hvi_policy **")
        call(lib.hvi_policy_read, out, path_of(path), chosen)
        self._c = ffi.gc(out[0], lib.hvi_policy_free)
        self.obs, self.act = lib.hvi_policy_obs(self._c), lib.hvi_policy_act_size(self._c)
        self._rng = ffi.new("hvi_rng[]", lib.HVI_POLICY_ROWS)
        for i in range(lib.HVI_POLICY_ROWS):
            self._rng[i] = lib.hvi_rng_new(seed, b"python-policy", i)

    def _act(self, obs, rng) -> np.ndarray:
        x = numbers(obs, "observations")
        if x.ndim not in (1, 2) or x.shape[-1] != self.obs:
            raise InputError(f"observations have shape {x.shape}, and must have {self.obs} numbers each")
        rows = x.reshape(-1, self.obs)
        actions = np.empty((len(rows), self.act))
        scratch = ffi.new("float[]", max(1, lib.hvi_policy_scratch(self._c, min(max(len(rows), 1), lib.HVI_POLICY_ROWS))))
        for first in range(0, len(rows), lib.HVI_POLICY_ROWS):
            part, to = rows[first:first + lib.HVI_POLICY_ROWS], actions[first:first + lib.HVI_POLICY_ROWS]
            lib.hvi_policy_act(self._c, scratch, len(part), pointer(part), rng, pointer(to))
        return actions.reshape(*x.shape[:-1], self.act)

    def __call__(self, obs) -> np.ndarray:
        return self._act(obs, ffi.NULL)

    def sample(self, obs) -> np.ndarray:
        """Actions with the policy's noise; without any where it is deterministic. One thread at a time draws."""
        with self._drawing:
            return self._act(obs, self._rng)

    def __repr__(self):
        about = ffi.new("char[]", 200)
        lib.hvi_py_policy_text(self._c, about)
        return f"<hvi policy: {self.obs} to {self.act} numbers, {text(about)}>"


def load_policy(path, *, seed: int = 1, **options) -> Policy:
    """A policy's file, of hvi or of a trainer that docs/evaluate.md names, as a callable.

    options: policy_kind, policy_activation, squash, action_range, as the program has them."""
    return Policy(path, seed, **options)


def _array(x) -> np.ndarray:
    """A tensor of PyTorch, wherever it lies."""
    return x.detach().cpu().numpy() if hasattr(x, "detach") else np.asarray(x)


def _word(module) -> str:
    """Our name of an activation, from a module of PyTorch or its class."""
    kind = module if isinstance(module, type) else type(module)
    alpha = getattr(module, "alpha", 1.0) if not isinstance(module, type) else 1.0
    slope = getattr(module, "negative_slope", 0.01) if not isinstance(module, type) else 0.01
    exact = getattr(module, "approximate", "none") if not isinstance(module, type) else "none"
    if kind.__name__ not in ACTIVATIONS or (alpha, slope, exact) != (1.0, 0.01, "none"):
        raise InputError(f"its activation {kind.__name__} is none of hvi's: {', '.join(sorted(set(ACTIVATIONS.values())))}")
    return ACTIVATIONS[kind.__name__]


def _range(low, high) -> dict:
    """The tensors of a range of actions."""
    low, high = (np.asarray(x, np.float64).reshape(-1) for x in (low, high))
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return {}
    return dict(action_scale=((high - low) / 2).astype(np.float32), action_bias=((high + low) / 2).astype(np.float32))


def _sb3(path: str) -> tuple:
    """A model of Stable-Baselines3: its policy's parameters, the activation, the range of actions."""
    saved = need("stable_baselines3.common.save_util", "stable-baselines3", "checkpoints of Stable-Baselines3 are read")
    data, parameters, _ = saved.load_from_zip_file(path, device="cpu")
    state = (parameters or {}).get("policy")
    if state is None:
        raise InputError(f"'{path}' is no model of Stable-Baselines3: it has no policy.pth")
    if any("features_extractor." in k for k in state):
        raise InputError(f"'{path}' has a features extractor with parameters (images), which is not read")
    tensors = {k: _array(v) for k, v in state.items() if not k.startswith(("critic", "value_net", "mlp_extractor.value_net"))
               and "target" not in k}
    notes, given = {}, (data or {}).get("policy_kwargs") or {}
    if given.get("activation_fn") is not None:
        notes["activation"] = _word(given["activation_fn"])
    space = (data or {}).get("action_space")
    if hasattr(space, "low"):
        tensors.update(_range(space.low, space.high))
    return tensors, dict(notes, trainer="Stable-Baselines3")


def _load(path: str, source=None):
    torch = need("torch", "torch", "checkpoints of PyTorch are read")
    try:
        return torch.load(source or path, map_location="cpu", weights_only=True)
    except Exception as e:
        first = str(e).strip().splitlines()[0]
        raise InputError(f"'{path}' is no checkpoint of tensors that PyTorch reads: {first}") from None


def _cleanrl(path: str, saved=None) -> tuple:
    """What CleanRL's scripts save: the actor's state_dict, or a tuple with the actor's first."""
    saved = _load(path) if saved is None else saved
    while isinstance(saved, (tuple, list)) and saved:
        saved = saved[0]
    if not isinstance(saved, dict) or not any(hasattr(v, "detach") for v in saved.values()):
        raise InputError(f"'{path}' holds no state_dict, which is a dictionary of tensors")
    tensors = {k: _array(v) for k, v in saved.items() if hasattr(v, "detach") and not k.startswith("critic")}
    for name in ("action_scale", "action_bias"):
        x = tensors.get(name)  # of several environments side by side there is a row for each
        if x is not None and x.ndim == 2 and (x == x[:1]).all():
            tensors[name] = x[0]
    return tensors, dict(trainer="CleanRL")


def _linear(state: dict, prefix: str) -> list:
    """The layers (weight, bias) PREFIX0, PREFIX2, ... of a Sequential, in order."""
    numbers = sorted({int(k[len(prefix):].split(".")[0]) for k in state if k.startswith(prefix)})
    layers = []
    for n in numbers:
        weight, bias = (state.get(f"{prefix}{n}.{part}") for part in ("weight", "bias"))
        if weight is None or bias is None or _array(weight).ndim != 2:
            raise InputError("its encoder has layers that are not linear (images, or normalisation), which are not read")
        layers.append((_array(weight), _array(bias)))
    return layers


def _fold(layers: list, scaler) -> list:
    """An observation scaler is linear: the first layer takes it over. (x - m) / s goes in, W x + b comes out."""
    if scaler is None:
        return layers
    kind = type(scaler).__name__
    if kind == "StandardObservationScaler":
        shift, size = np.asarray(scaler.mean, float), np.asarray(scaler.std, float) + scaler.eps
    elif kind == "MinMaxObservationScaler":  # to [-1, 1]
        low, high = np.asarray(scaler.minimum, float), np.asarray(scaler.maximum, float)
        shift, size = (high + low) / 2, (high - low) / 2
    else:
        raise InputError(f"its observation scaler {kind} is not known here")
    w = layers[0][0].astype(float) / size
    return [(w.astype(np.float32), (layers[0][1] - w @ shift).astype(np.float32)), *layers[1:]]


def _d3rlpy_state(path: str, state: dict, activation: str, squashed: bool, deterministic: bool, scaler=None) -> tuple:
    """The parameters of a d3rlpy policy under names that the library has."""
    layers = _fold(_linear(state, "_encoder._layers."), scaler)
    mean = "_mu" if "_mu.weight" in state else "_fc"
    if not layers or f"{mean}.weight" not in state:
        raise InputError(f"'{path}' has no actor of d3rlpy: _encoder._layers.0.weight, and _mu.weight or _fc.weight")
    noise = mean == "_mu" and not deterministic
    if noise and (not squashed or "_logstd.weight" not in state):
        raise InputError(f"'{path}' adds its noise after tanh, which hvi does not have; deterministic=True (--deterministic)"
                         " takes its mean action")
    names = [f"latent_pi.{2 * i}" for i in range(len(layers))] if noise else [f"fc{i + 1}" for i in range(len(layers))]
    tensors = {f"{n}.{part}": x for n, layer in zip(names, layers) for part, x in zip(("weight", "bias"), layer)}
    for ours, theirs in [("mu" if noise else "fc_mu", mean), *([("log_std", "_logstd")] if noise else [])]:
        tensors.update({f"{ours}.{part}": _array(state[f"{theirs}.{part}"]) for part in ("weight", "bias")})
    size = len(_array(state[f"{mean}.bias"]))
    tensors.update(_range(-np.ones(size), np.ones(size)))
    return tensors, dict(trainer="d3rlpy", activation=activation, action_range="file")


def _d3rlpy(path: str, deterministic: bool) -> tuple:
    """A model.d3: built anew by d3rlpy, whose modules say what they are."""
    d3rlpy = need("d3rlpy", "d3rlpy", "checkpoints of d3rlpy are read")
    algo = d3rlpy.load_learnable(path, device="cpu")
    policy = getattr(algo.impl, "policy", None)
    if type(policy).__name__ not in ("NormalPolicy", "DeterministicPolicy"):
        raise InputError(f"'{path}' has a policy of kind {type(policy).__name__}; of d3rlpy those with continuous actions are read")
    layers = getattr(policy._encoder, "_layers", [])
    words = {_word(m) for m in layers if type(m).__name__ not in ("Linear", "Dropout")}
    if len(words) > 1:
        raise InputError(f"'{path}' has several activations: {', '.join(sorted(words))}")
    squashed = type(algo).__name__ in ("SAC", "CQL")
    tensors, notes = _d3rlpy_state(path, policy.state_dict(), words.pop() if words else "identity", squashed, deterministic,
                                   algo.config.observation_scaler)
    scaler = algo.config.action_scaler
    if scaler is not None:
        if type(scaler).__name__ != "MinMaxActionScaler":
            raise InputError(f"'{path}': its action scaler {type(scaler).__name__} is not known here")
        tensors.update(_range(scaler.minimum, scaler.maximum))
    return tensors, dict(notes, trainer=f"d3rlpy {type(algo).__name__}")


def _is_zip(path: str) -> bool:
    """By its beginning: a d3rlpy file has a zip of PyTorch's in it."""
    with open(path, "rb") as f:
        return f.read(2) == b"PK"


def kind_of(path: str) -> str:
    """Whose checkpoint it is: 'sb3', 'cleanrl', 'd3rlpy', or None."""
    if _is_zip(path) and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as z:
            return "sb3" if "policy.pth" in z.namelist() else "cleanrl"
    if path.endswith((".cleanrl_model", ".pt", ".pth")):
        return "cleanrl"
    with open(path, "rb") as f:
        return "d3rlpy" if path.endswith(".d3") or f.read(1) == b"\x80" else None


def _read(path: str, kind: str, deterministic: bool) -> tuple:
    if kind == "sb3":
        return _sb3(path)
    if kind == "d3rlpy" and not _is_zip(path):
        return _d3rlpy(path, deterministic)
    saved = _load(path)
    state = saved.get("_policy", saved.get("policy")) if isinstance(saved, dict) else None
    if isinstance(state, dict) and any(k.startswith("_encoder.") for k in state):  # d3rlpy's save_model: relu unless told
        return _d3rlpy_state(path, state, "relu", True, deterministic)
    return _cleanrl(path, saved)


def convert(path, out, *, kind: str = None, deterministic: bool = False, force: bool = False, **notes) -> Policy:
    """A checkpoint of Stable-Baselines3 (.zip), CleanRL (.cleanrl_model, .pt) or d3rlpy (.d3, .pt) as our file `out`.

    kind: 'sb3', 'cleanrl' or 'd3rlpy', where the file does not tell. deterministic: the mean action alone.
    force: replaces a file that hvi did not make for this. notes: activation, squash, ... where the file does not say.
    The result is loaded as a check before `out` appears, and returned."""
    path, out = os.path.expanduser(path), os.fspath(out)
    if not os.path.isfile(path):
        raise SystemFailure(f"cannot open '{path}': No such file")
    if kind not in (None, *KINDS):
        raise ArgumentError(f"kind must be one of {', '.join(KINDS)}, not '{kind}'")
    kind = kind or kind_of(path)
    if kind is None:
        raise InputError(f"'{path}' is no checkpoint of Stable-Baselines3, CleanRL or d3rlpy that is known by its form")
    may_write(out, MARK, force)
    try:
        tensors, said = _read(path, kind, deterministic)
    except (zipfile.BadZipFile, pickle.UnpicklingError, EOFError) as e:
        raise InputError(f"'{path}' is damaged: {e}") from None
    except InputError as e:
        raise InputError(str(e) if path in str(e) else f"'{path}': {e}") from None
    if deterministic:
        said["kind"] = "deterministic"
    about = {"contents": "policy", "version": text(lib.hvi_version()), **said, **notes}
    with tempfile.TemporaryDirectory(dir=os.path.dirname(out) or ".", prefix=".hvi-convert-") as folder:
        trial = os.path.join(folder, "policy.safetensors")
        write(trial, tensors, about, MARK)
        try:
            Policy(trial)
        except InputError as e:
            raise InputError(str(e).replace(trial, path)) from None
    write(out, tensors, about, MARK, force)
    return Policy(out)


def layers_of(policy: Policy) -> Fields:
    """What a policy is made of: layers [(weight, bias)], activation, clipped, scale, shift; or gain."""
    form, act = lib.hvi_py_policy_form(policy._c), policy.act

    def floats(at, *shape):
        return np.frombuffer(ffi.buffer(at, 4 * int(np.prod(shape))), np.float32).reshape(shape).copy()

    if form.layers == 0:
        gain = np.frombuffer(ffi.buffer(form.gain, 8 * act * policy.obs)).reshape(act, policy.obs).copy()
        return Fields(layers=[], gain=gain)
    layers = []
    for i in range(form.layers):
        y = lib.hvi_py_policy_layer(policy._c, i)
        weight, bias = floats(y.weight, y.out, getattr(y, "in")), floats(y.bias, y.out)
        layers.append((weight, bias) if i + 1 < form.layers else (weight[:act], bias[:act]))
    return Fields(layers=layers, activation=text(lib.hvi_activation_name(form.activation)), clipped=form.clipped,
                  scale=floats(form.scale, act), shift=floats(form.shift, act), gain=None)
