"""Transitions in the forms of others: Minari and D4RL (HDF5, by h5py), Gymnasium environments, and our own files.

    data = hvi.data.from_minari("~/.minari/datasets/pendulum/random-v0")
    hvi.evaluate(data=data, gamma=0.99)
    hvi.data.save("pendulum.safetensors", data)         # for `hvi evaluate --data pendulum.safetensors`

Everything here is a dictionary of arrays: obs, action, reward, next_obs, terminated, truncated. What such arrays mean,
and which are refused, are the library's rules (docs/data-files.md)."""
import json
import os
from pathlib import Path

import numpy as np

from ._core import ArgumentError, InputError, SystemFailure, call, chars, ffi, lib, may_write, need, numbers, path_of, pointer
from ._core import text, whole

COLUMNS = ("obs", "action", "reward", "next_obs", "terminated", "truncated", "done")
TYPES = {np.dtype(t): getattr(lib, f"HVI_TENSOR_{name}") for t, name in (
    ("?", "BOOL"), ("u1", "U8"), ("i1", "I8"), ("u2", "U16"), ("i2", "I16"), ("u4", "U32"), ("i4", "I32"), ("u8", "U64"),
    ("i8", "I64"), ("f2", "F16"), ("f4", "F32"), ("f8", "F64"))}
MARK = '"contents":"transitions"'  # of the program's own files of this kind
D4RL = {"obs": "observations", "action": "actions", "reward": "rewards", "terminated": "terminals",
        "truncated": "timeouts", "next_obs": "next_observations"}


class Transitions(dict):
    """Arrays by column, with `notes` about where they are from: hvi.evaluate(data=t), or hvi.evaluate(**t)."""

    def __init__(self, columns: dict, **notes):
        super().__init__(columns)
        self.notes = {k: str(v) for k, v in notes.items() if v is not None}

    def __repr__(self):
        rows, ends = len(self.get("reward", ())), [f", {int(np.sum(self[k]))} {k}" for k in ("terminated", "truncated") if k in self]
        return "".join((f"<hvi transitions: {rows} rows", *ends, *(f", {k} {v}" for k, v in self.notes.items()), ">"))


def tensors(arrays: dict):
    """The library's view of arrays by name, and what keeps it alive."""
    kept, items = [], []
    for name, x in arrays.items():
        label, a = ffi.new("char[]", chars(name, "the name of an array")), numbers(x, f"'{name}'", None)
        if a.ndim > 8:
            raise InputError(f"'{name}' has {a.ndim} axes")
        kept += [a, label]
        items.append(dict(name=label, type=TYPES[a.dtype], dims=a.ndim, shape=list(a.shape), data=pointer(a, "void")))
    return ffi.new("hvi_tensor[]", items), kept


def dataset(source, name: str = "the arrays"):
    """The library's data set of arrays, or of a file as `hvi evaluate --data` reads it."""
    out = ffi.new("hvi_dataset **")
    if isinstance(source, dict):
        c, kept = tensors(source)
        arrays = ffi.new("hvi_tensors *", dict(count=len(c), items=c))
        call(lib.hvi_dataset_of, out, arrays, name.encode(), ffi.NULL)
    elif isinstance(source, (str, bytes, os.PathLike)):
        call(lib.hvi_dataset_load, out, path_of(source))
    else:
        raise ArgumentError(f"data are a dictionary of arrays or a file, not of type {type(source).__name__}")
    return ffi.gc(out[0], lib.hvi_dataset_free)


def _columns(d) -> dict:
    """Copies of a data set's columns; those that it does not know are missing."""
    def copy(at, shape, kind):
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        return np.frombuffer(ffi.buffer(at, size), kind).reshape(shape).copy() if size else np.empty(shape, kind)

    n, found = d.count, {}
    found["obs"] = copy(d.observation, (n, d.obs), np.float32)
    if d.act:
        found["action"] = copy(d.action, (n, d.act), np.float32)
    found.update(reward=copy(d.reward, (n,), np.float32), next_obs=copy(d.next, (n, d.obs), np.float32),
                 terminated=copy(d.terminated, (n,), np.bool_))
    if not d.cuts_unknown:
        found["truncated"] = copy(d.truncated, (n,), np.bool_)
    return found


def load(path) -> Transitions:
    """A data file that `hvi evaluate --data` reads (.safetensors, .npz, a folder of .npy), as arrays."""
    d = dataset(path)
    return Transitions(_columns(d), environment=text(d.origin.environment) or None)


def write(path, arrays: dict, notes: dict, mark: str, force: bool = False) -> None:
    """A .safetensors file, whole or not at all; what is there and does not have the mark is left unless forced."""
    may_write(path, mark, force)
    c, kept = tensors(arrays)
    texts = [tuple(ffi.new("char[]", chars(str(x), "a note")) for x in pair) for pair in notes.items()]
    call(lib.hvi_tensors_write, path_of(path), c, len(c), ffi.new("hvi_tensor_note[]", texts), len(texts))


def save(path, data: dict, *, force: bool = False, **notes) -> str:
    """Writes transitions as .safetensors for the program, by its rules; returns what it remarks about them.

    force: replaces a file that hvi did not make for this. notes: texts that go into the file."""
    d = dataset(data)
    columns = _columns(d)
    about = {"contents": "transitions", "transitions": d.count, "version": text(lib.hvi_version()),
             **getattr(data, "notes", {}), **notes}
    write(path, columns, about, MARK, force)
    return text(d.remarks)


# HDF5.


def _open(path):
    """An HDF5 file for reading; what cannot be opened is told in one line."""
    h5py = need("h5py", "h5py", "HDF5 files are read")
    if not os.path.exists(path):
        raise SystemFailure(f"cannot open '{path}': No such file or directory")
    try:
        return h5py.File(path, "r")
    except OSError as e:
        if os.access(path, os.R_OK) and not h5py.is_hdf5(path):
            raise InputError(f"'{path}' is no HDF5 file") from None
        raise SystemFailure(f"cannot read '{path}': {e}") from None


def _order(names, space) -> list:
    """The parts of a Dict or Tuple space in Gymnasium's order: as the space has them, where it is known."""
    known = list(space["subspaces"]) if isinstance(space, dict) and isinstance(space.get("subspaces"), dict) else []
    if set(known) == set(names):
        return known
    return sorted(names, key=lambda k: (0, int(k[7:]), "") if k.startswith("_index_") else (1, 0, k))


def _read(node, where: str, space=None) -> np.ndarray:
    """The numbers of a dataset; a group of them (a Dict or Tuple space) is laid side by side, in Gymnasium's order."""
    if hasattr(node, "keys"):
        space = _text_of(space)
        inner = space.get("subspaces") if isinstance(space, dict) and isinstance(space.get("subspaces"), dict) else {}
        parts = [_read(node[k], f"{where}/{k}", inner.get(k)) for k in _order(node.keys(), space)]
        if not parts:
            raise InputError(f"{where} is empty")
        return np.concatenate([p.reshape(len(p), -1) for p in parts], axis=1)
    try:
        a = node[()]
    except OSError as e:
        raise SystemFailure(f"cannot read {where}: {e}") from None
    if np.ndim(a) == 0:
        raise InputError(f"{where} is no array")
    return numbers(a, where, None)


def from_d4rl(path) -> Transitions:
    """The transitions of a D4RL file: observations, actions, rewards, terminals, timeouts, next_observations.

    Without next_observations the next row's observation stands for it, and the rows at the ends of episodes, which have
    none, are dropped, as D4RL's own qlearning_dataset does it."""
    path = os.path.expanduser(path)
    with _open(path) as file:
        missing = [D4RL[k] for k in ("obs", "reward", "terminated") if D4RL[k] not in file]
        if missing:
            raise InputError(f"'{path}' is no D4RL file: it has no '{missing[0]}'")
        found = {k: _read(file[name], f"'{path}' {name}") for k, name in D4RL.items() if name in file}
    for k in ("obs", "action", "next_obs"):
        if k in found:
            found[k] = found[k].reshape(len(found[k]), -1)
    return Transitions(found, source=f"D4RL {os.path.basename(path)}")


def _minari_file(path) -> Path:
    """main_data.hdf5 of a data set, its data folder, or the file itself."""
    path = Path(path).expanduser()
    for at in (path, path / "main_data.hdf5", path / "data" / "main_data.hdf5"):
        if at.is_file():
            return at
    if path.is_dir():
        raise InputError(f"'{path}' has no data/main_data.hdf5: it is no Minari data set in HDF5")
    raise SystemFailure(f"cannot open '{path}': No such file or directory")


def _metadata(file: Path) -> dict:
    """What stands beside the data: the environment, the data set's name, the spaces."""
    try:
        return json.loads((file.parent / "metadata.json").read_text())
    except (OSError, ValueError):
        return {}


def _text_of(value):
    """JSON in JSON, which is how Minari keeps spaces and environments."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _has_images(space) -> bool:
    if isinstance(space, list):
        return any(_has_images(s) for s in space)
    if not isinstance(space, dict):
        return False
    image = space.get("dtype") == "uint8" and len(space.get("shape") or ()) == 3
    return image or any(_has_images(_text_of(s)) for s in space.values())


def _episode(group, where: str, space=None) -> dict:
    """One episode. It has an observation more than steps; an end that nobody marked is a cut."""
    for name in ("observations", "rewards", "terminations", "truncations"):
        if name not in group:
            raise InputError(f"{where} has no '{name}'")
    obs, reward = _read(group["observations"], f"{where}/observations", space), _read(group["rewards"], f"{where}/rewards")
    obs, steps = obs.reshape(len(obs), -1), len(reward)
    if len(obs) != steps + 1:
        raise InputError(f"{where} has {len(obs)} observations for {steps} steps, and Minari has one more than steps")
    ends = {k: _read(group[n], f"{where}/{n}").astype(bool)
            for k, n in (("terminated", "terminations"), ("truncated", "truncations"))}
    found = dict(obs=obs[:-1], reward=reward, next_obs=obs[1:], **ends)
    if "actions" in group:
        found["action"] = _read(group["actions"], f"{where}/actions").reshape(steps, -1)
    for k, x in found.items():
        if len(x) != steps:
            raise InputError(f"{where} has {steps} rewards, and {len(x)} rows of '{k}'")
    if steps and not (found["terminated"][-1] or found["truncated"][-1]):
        found["truncated"][-1] = True
    return found


def from_minari(path, progress=None) -> Transitions:
    """The transitions of a Minari data set in HDF5: its folder, or main_data.hdf5.

    The state after the last step of an episode is known, so no row is dropped and nothing bootstraps across episodes.
    progress: is called with (episodes read, episodes)."""
    at = _minari_file(path)
    about, parts = _metadata(at), []
    if _has_images(_text_of(about.get("observation_space"))):
        raise InputError(f"'{at}' has images as observations, which are not read")
    with _open(at) as file:
        names = sorted((n for n in file if n.startswith("episode_") and n[8:].isdigit()), key=lambda n: int(n[8:]))
        if not names:
            raise InputError(f"'{at}' is no Minari file: it has no episode_0")
        for i, name in enumerate(names):
            parts.append(_episode(file[name], f"'{at}' {name}", about.get("observation_space")))
            if progress:
                progress(i + 1, len(names))
    if len({frozenset(p) for p in parts}) > 1 or len({p["obs"].shape[1] for p in parts}) > 1:
        raise InputError(f"'{at}': episodes have different columns or observations of different lengths")
    spec = _text_of(about.get("env_spec")) or {}
    joined = {k: np.concatenate([p[k] for p in parts]) for k in COLUMNS if k in parts[0]}
    return Transitions(joined, source="Minari", dataset=about.get("dataset_id"), environment=spec.get("id"))


def read(path, progress=None) -> Transitions:
    """An HDF5 file of Minari or D4RL, told apart by what is in it."""
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        return from_minari(path, progress)
    with _open(path) as file:
        minari = any(n.startswith("episode_") for n in file)
    return from_minari(path, progress) if minari else from_d4rl(path)


# Environments.


def _after(info: dict, k: int, state):
    """What a sub-environment showed last, where it was reset in the same step (several releases' names for it)."""
    for name in ("final_obs", "final_observation"):
        if name in info and info[name][k] is not None:
            return info[name][k]
    raise InputError("the vector environment was reset in the same step and does not tell final_obs")


def _answer(answer, names: str) -> tuple:
    """What reset or step returned, which must be what Gymnasium's returns."""
    if not isinstance(answer, tuple) or len(answer) != len(names.split()):
        raise InputError(f"the environment must return ({', '.join(names.split())}), as Gymnasium's do; older ones do not")
    return answer


def _reset(env, **words):
    return _answer(env.reset(**words), "observation info")[0]


def _step(env, action) -> tuple:
    return _answer(env.step(action), "observation reward terminated truncated info")


def _observed(state, count: int = None) -> np.ndarray:
    """A copy of an observation; of `count` environments side by side, a row for each."""
    a = None if isinstance(state, dict) or (count and isinstance(state, tuple)) else np.array(state)
    if a is None or a.dtype.kind not in "biuf":
        raise InputError("the environment's observations are no arrays of numbers; Gymnasium's wrapper FlattenObservation "
                         "makes them so")
    return a


def _acted(answer, count: int) -> np.ndarray:
    """What the policy wants of `count` environments side by side."""
    a = np.asarray(answer)
    if a.shape[:1] != (count,):
        raise InputError(f"the policy returned actions of shape {a.shape}, and must return one for each of {count} environments")
    return a


def _vector(env, policy, transitions: int, seed: int) -> list:
    """Rows of each sub-environment in order; what a step that only resets returns is no transition."""
    mode = str(getattr(env, "metadata", {}).get("autoreset_mode", "same_step")).lower()
    count, total = env.num_envs, 0
    rows, fresh = [[] for _ in range(count)], np.zeros(count, bool)
    state = _reset(env, seed=seed)
    while total < transitions:
        state = _observed(state, count)
        action = _acted(policy(state), count)
        after, reward, terminated, truncated, info = _step(env, action)
        ended, same = terminated | truncated, "same" in mode
        for k in np.flatnonzero(~fresh):
            last = _after(info, k, after) if ended[k] and same else after[k]
            rows[k].append([np.array(x) for x in (state[k], action[k], reward[k], last, terminated[k], truncated[k])])
        total += count - int(fresh.sum())
        fresh = ended if "next" in mode else np.zeros(count, bool)
        if "disabled" in mode and ended.any():
            after = _reset(env, options={"reset_mask": ended})
        state = after
    for part in rows:  # another sub-environment's rows follow: the episode is cut, and its last state has a value
        part[-1][5] = part[-1][5] | ~part[-1][4]
    return [row for part in rows for row in part][:transitions]


def _single(env, policy, transitions: int, seed: int) -> list:
    rows, state = [], _reset(env, seed=seed)
    for _ in range(transitions):
        row, action = [_observed(state)], policy(state)
        after, reward, terminated, truncated, _ = _step(env, action)
        rows.append([*row, np.array(action), np.array(reward), _observed(after), np.array(terminated), np.array(truncated)])
        state = _reset(env) if terminated or truncated else after
    return rows


def collect(env, policy, transitions: int, seed: int = 1) -> Transitions:
    """Transitions of a policy in an environment with Gymnasium's reset and step, as arrays.

    env: one environment, or a gymnasium.vector one, whose sub-environments' rows then stand one after the other.
    policy: a function from an observation to an action; of a vector environment from all observations to all actions.
    Episodes follow each other; the last one may be cut. Observations and actions are flattened."""
    transitions, seed = whole(transitions, "transitions", 1), whole(seed, "seed")
    if not (hasattr(env, "reset") and hasattr(env, "step")):
        raise ArgumentError(f"env must have Gymnasium's reset and step, or be the name of a built-in one, not {env!r}")
    if not callable(policy):
        raise ArgumentError("policy must be a function from an observation to an action")
    rows = (_vector if hasattr(env, "num_envs") else _single)(env, policy, transitions, seed)
    found = {k: np.array(x) for k, x in zip(("obs", "action", "reward", "next_obs", "terminated", "truncated"), zip(*rows))}
    flat = {k: found[k].reshape(len(rows), -1) for k in ("obs", "action", "next_obs")}
    return Transitions({**found, **flat}, environment=getattr(getattr(env, "spec", None), "id", None))
