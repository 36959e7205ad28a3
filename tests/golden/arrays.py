#!/usr/bin/env python3
"""NumPy's own .npz files for tests/io/test_npz.c, and seeds of the fuzzer of their reader.

Writes arrays/*.npz and ../../fuzz/seeds/fuzz_npz/*.npz. Made with NumPy 2.4: python3 arrays.py
"""
import io
import os
import struct
import zipfile

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
out, seeds = f"{here}/arrays", f"{here}/../../fuzz/seeds/fuzz_npz"
os.makedirs(out, exist_ok=True)
os.makedirs(seeds, exist_ok=True)

arrays = dict(
    f8=np.arange(6.0).reshape(2, 3) / 4,
    f4=np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5),
    f2=np.array([1.5, -2], np.float16),
    i8=np.array([-(2**53), 7]),
    i4=np.array([-3, 70000], ">i4"),
    i2=np.array([-300, 300], np.int16),
    i1=np.array([-128, 127], np.int8),
    u8=np.array([2**63, 1], np.uint64),
    u4=np.array([2**32 - 1], ">u4"),
    u2=np.asfortranarray(np.arange(24, dtype=">u2").reshape(2, 3, 4)),
    u1=np.zeros((0, 3), np.uint8),
    b1=np.array([True, False, True]),
    gamma=0.99,
    env="lqr",
    bytes=np.bytes_(b"abc"),
    objects=np.array([{"a": 1}], dtype=object),
    names=np.array(["a", "b"]),
    record=np.zeros(2, dtype=[("x", "<f4"), ("y", "<i2")]),
    complex=np.array([1j]),
)
np.savez(f"{out}/stored.npz", **arrays)
np.savez_compressed(f"{out}/deflated.npz", **arrays)

# data sets and test sets, for tests/scripts/cli_evaluate.sh
rng = np.random.default_rng(1)
obs, steps = rng.normal(size=(120, 3)).astype(np.float32), np.arange(120)
episodes = dict(rewards=rng.normal(size=120), terminals=steps == 49)
np.savez_compressed(
    f"{out}/d4rl.npz", observations=obs, actions=rng.normal(size=(120, 1)), timeouts=(steps + 1) % 60 == 0,
    infos=np.array([{}], dtype=object), env="hopper", **episodes)
np.savez_compressed(f"{out}/cut.npz", observations=obs, after=np.roll(obs, -1, 0), **episodes)
np.savez(f"{out}/objects.npz", obs=np.array([None, 1], dtype=object), next_obs=obs, done=steps == 9, **episodes)
np.savez(f"{out}/plain.npz", obs=obs[:20], value=rng.normal(size=20))
np.savez(f"{out}/truth.npz", obs=obs[:20], value=rng.normal(size=20), standard_error=np.full(20, 0.9), gamma=0.9)


def npy(a):
    f = io.BytesIO()
    np.save(f, a)
    return f.getvalue()


def archive(name, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(f"{seeds}/{name}", "w", method) as z:
        for member, content in members:
            z.writestr(zipfile.ZipInfo(member), content, method)


def patched(name, source, signature, offset, content):
    """A copy with other bytes at an offset from the last place of a signature."""
    raw = bytearray(open(f"{seeds}/{source}", "rb").read())
    at = raw.rindex(signature) + offset
    raw[at : at + len(content)] = content
    open(f"{seeds}/{name}", "wb").write(raw)


x = npy(np.arange(4.0))
np.savez(f"{seeds}/small.npz", x=np.arange(4.0), gamma=0.5)
np.savez_compressed(f"{seeds}/deflated.npz", x=np.zeros(1000), y=np.arange(3, dtype=">i2"))
archive("twice.npz", [("x.npy", x), ("x.npy", x)])
archive("bzip2.npz", [("x.npy", x)], zipfile.ZIP_BZIP2)
archive("other.npz", [("readme.txt", b"nothing"), ("a/b.npy", x), (".npy", x)])
archive("short.npz", [("x.npy", x[:-1])])
archive("text.npz", [("x.npy", b"not an array")])
archive("bool.npz", [("x.npy", npy(np.array([True])).replace(b"\n\x01", b"\n\x02"))])
archive("empty.npz", [])
archive("deflated_one.npz", [("x.npy", npy(np.zeros(1000)))], zipfile.ZIP_DEFLATED)
# central directory: 16 checksum, 20 compressed size, 24 size; 8 flags
patched("checksum.npz", "short.npz", b"PK\x01\x02", 16, b"\1\2\3\4")
patched("bomb.npz", "deflated_one.npz", b"PK\x01\x02", 24, struct.pack("<I", 0xFFFFFFF0))
patched("longer.npz", "deflated_one.npz", b"PK\x01\x02", 24, struct.pack("<I", 9000))
patched("encrypted.npz", "deflated_one.npz", b"PK\x01\x02", 8, struct.pack("<H", 1))
open(f"{seeds}/cut.npz", "wb").write(open(f"{seeds}/small.npz", "rb").read()[:-40])
