#!/usr/bin/env python3
"""Compares the library's tensor files with those of the package safetensors, in both directions.

Usage: check-safetensors.py [build/libhvi.so]

Needs numpy and safetensors (pip install safetensors numpy); with ml_dtypes, bfloat16 is compared too.
"""
import ctypes as c
import glob
import os
import sys
import tempfile

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TYPES = [np.dtype(t) for t in ("?", "u1", "i4", "i8", "f2", "u2", "f4", "f8")]
DRAWN = [0, 1, 2, 3, 4, 6, 7]
try:
    import ml_dtypes

    TYPES[5] = np.dtype(ml_dtypes.bfloat16)
    DRAWN.append(5)
except ImportError:
    pass


class Tensor(c.Structure):
    _fields_ = [("name", c.c_char_p), ("type", c.c_int), ("dims", c.c_size_t), ("shape", c.c_size_t * 8),
                ("data", c.c_void_p)]


class Note(c.Structure):
    _fields_ = [("key", c.c_char_p), ("text", c.c_char_p)]


class Tensors(c.Structure):
    _fields_ = [("count", c.c_size_t), ("items", c.POINTER(Tensor)), ("note_count", c.c_size_t),
                ("notes", c.POINTER(Note)), ("owned", c.c_void_p)]


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("text", c.c_char * 512)]


class Refused(Exception):
    pass


def call(function, *arguments):
    error = Error()
    if function(*arguments, c.byref(error)):
        raise Refused(error.text.decode(errors="replace"))


def hvi_write(hvi, path, arrays, notes):
    items = (Tensor * len(arrays))()
    for item, (name, a) in zip(items, arrays.items()):
        item.name, item.type, item.dims = name.encode(), TYPES.index(a.dtype), a.ndim
        item.shape[:a.ndim] = a.shape
        item.data = a.ctypes.data
    pairs = (Note * len(notes))(*[Note(k.encode(), v.encode()) for k, v in notes.items()])
    call(hvi.hvi_tensors_write, path.encode(), items, c.c_size_t(len(items)), pairs, c.c_size_t(len(pairs)))


def doubles(hvi, item, shape):
    out = np.empty(shape)
    call(hvi.hvi_tensor_doubles, out.ctypes.data_as(c.c_void_p), c.byref(item))
    return out


def hvi_read(hvi, path):
    """Names, raw arrays, the same as doubles (None where refused), and the notes."""
    t = c.POINTER(Tensors)()
    call(hvi.hvi_tensors_read, c.byref(t), path.encode(), c.c_size_t(0))
    arrays, numbers = {}, {}
    for item in t.contents.items[:t.contents.count]:
        shape = tuple(item.shape[:item.dims])
        dtype = TYPES[item.type]
        raw = c.string_at(item.data, int(np.prod(shape, dtype=int)) * dtype.itemsize)
        arrays[item.name.decode()] = np.frombuffer(raw, dtype).reshape(shape)
        try:
            numbers[item.name.decode()] = doubles(hvi, item, shape)
        except Refused:
            numbers[item.name.decode()] = None
    notes = {n.key.decode(): n.text.decode() for n in t.contents.notes[:t.contents.note_count]}
    hvi.hvi_tensors_free(t)
    return arrays, numbers, notes


def same(a, b):
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes() for k in a)


def draw(rng):
    arrays = {}
    for i in range(rng.integers(0, 12)):
        dtype = TYPES[rng.choice(DRAWN)]
        shape = tuple(rng.integers(0, 5, size=rng.integers(0, 5)))
        name = f"layer{i}.weight" if i % 3 else f"odd \"{i}\" \\ \n é {chr(0x1F370)}"
        arrays[name] = np.asarray(rng.normal(size=shape) * 100).astype(dtype)
    return arrays, {f"note {i}": "text \" é\n" * i for i in range(rng.integers(0, 3))}


def compare(hvi, folder, rng):
    arrays, notes = draw(rng)
    ours, theirs = os.path.join(folder, "ours.safetensors"), os.path.join(folder, "theirs.safetensors")
    hvi_write(hvi, ours, arrays, notes)
    with safe_open(ours, framework="numpy") as f:
        assert (f.metadata() or {}) == notes, "the package reads other notes"
    assert same(load_file(ours), arrays), "the package reads other numbers"
    save_file(arrays, theirs, metadata=notes or None)
    read, numbers, found = hvi_read(hvi, theirs)
    assert found == notes, "hvi reads other notes"
    assert same(read, arrays), "hvi reads other numbers"
    for name, a in arrays.items():
        assert np.array_equal(numbers[name], a.astype(float)), f"hvi converts {name!r} otherwise"


def compare_refusals(hvi):
    """What hvi reads of the fuzzers' seeds, the package reads too; it may well read more."""
    refused = []
    for path in sorted(glob.glob(os.path.join(ROOT, "fuzz/seeds/fuzz_tensors/*"))):
        try:
            hvi_read(hvi, path)
            with safe_open(path, framework="numpy"):
                pass
        except Refused as e:
            refused.append(str(e))
        except SafetensorError as e:
            raise AssertionError(f"{path}: read by hvi, but the package says: {e}")
    return refused


def main():
    hvi = c.CDLL(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build/libhvi.so"))
    hvi.hvi_tensors_free.restype = None
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(300):
            compare(hvi, folder, rng)
    refused = compare_refusals(hvi)
    print(f"300 files each way agree; {len(refused)} broken seeds refused, none of the others by the package")


if __name__ == "__main__":
    main()
