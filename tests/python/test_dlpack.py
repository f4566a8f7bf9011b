"""Contract N9, E2, E4: DLPack producers of every kind, good, odd and bad."""

from __future__ import annotations

import gc
from typing import Any

import ashore
import ml_dtypes
import numpy as np
import pytest
from checks import address, assert_same, bits, refuses
from dlpack_producer import (
    BFLOAT,
    BOOL,
    COMPLEX,
    CUDA,
    CUDA_HOST,
    CUDA_MANAGED,
    EXT_DEV,
    FLOAT,
    HANDLE,
    INT,
    IS_COPIED,
    OPENCL,
    READ_ONLY,
    ROCM_HOST,
    SUB_BYTE_PADDED,
    UINT,
    Producer,
)

BOTH = pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "unversioned"])


@BOTH
@pytest.mark.parametrize("copy", [None, False, True])
def test_n9_deleter_runs_once_after_the_last_view(versioned: bool, copy: bool | None) -> None:
    x = Producer(versioned=versioned)
    out = ashore.to_numpy(x, copy=copy)
    assert_same(out, x.array)
    row = out[1:]
    del out
    gc.collect()
    assert x.freed == (1 if copy else 0)
    assert row.tolist() == [[3.0, 4.0, 5.0]]
    del row
    gc.collect()
    assert (x.freed, x.asked) == (1, 1)


@BOTH
def test_n9_deleter_runs_once_for_tensors(versioned: bool) -> None:
    for options in ({}, {"copy": True}, {"dtype": "float64"}, {"requires_grad": True}):
        x = Producer(versioned=versioned)
        tensor = ashore.to_torch(x, **options)
        assert x.freed == (0 if options in ({}, {"requires_grad": True}) else 1)
        assert tensor.tolist() == x.array.tolist()
        del tensor
        gc.collect()
        assert (x.freed, x.asked) == (1, 1)


@BOTH
def test_n9_deleter_runs_at_once_for_empty_arrays(versioned: bool) -> None:
    for data in (None, 0, 0x10):
        for shape in ((0,), (3, 0, 2)):
            x = Producer(shape=shape, ndim=len(shape), strides=None, data=data, versioned=versioned)
            out = ashore.to_numpy(x, copy=False)
            assert x.freed == 1 and out.shape == shape and out.dtype == np.float32
            assert tuple(ashore.to_torch(x).shape) == shape
            assert x.freed == 2


def test_n9_a_deleter_may_be_null() -> None:
    for versioned in (True, False):
        x = Producer(versioned=versioned, free=None)
        assert_same(ashore.to_numpy(x), x.array)
        assert_same(ashore.to_numpy(x, copy=True), x.array)
        assert ashore.to_torch(x).tolist() == x.array.tolist()


BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "negative ndim": ({"ndim": -1}, ["-1 dimensions"]),
    "65 dimensions": ({"ndim": 65, "shape": (1,) * 65, "strides": None}, ["65 dimensions"]),
    "a million dimensions": ({"ndim": 10**6}, ["dimensions"]),
    "no shape": ({"shape": None}, ["shape"]),
    "negative length": ({"shape": (2, -3)}, ["-3"]),
    "null data": ({"data": None}, ["null"]),
    "null data with offset": ({"data": None, "byte_offset": 64}, ["null"]),
    "huge shape": ({"shape": (2**62, 4), "strides": None}, ["63 bits"]),
    "huge shape and strides": ({"shape": (2**40, 2**40), "strides": (1, 1)}, ["63 bits"]),
    "huge strides": ({"strides": (2**62, 1)}, ["63 bits"]),
    "huge negative strides": ({"strides": (-(2**62), 1)}, ["63 bits"]),
    "before the address space": ({"strides": (-(2**59), 1)}, ["address space"]),
    "huge offset": ({"byte_offset": 2**64 - 8}, ["byte_offset"]),
    "lanes 0": ({"lanes": 0}, ["lanes", "float32"]),
    "lanes 4": ({"lanes": 4}, ["lanes", "float32"]),
    "opaque handle": ({"code": HANDLE, "bits": 64}, ["dtype", "handle"]),
    "unknown code": ({"code": 99}, ["dtype", "99"]),
    "float80": ({"bits": 80}, ["dtype", "float80"]),
    "float0": ({"bits": 0}, ["dtype", "0 bits"]),
    "bool of 32 bits": ({"code": BOOL}, ["dtype", "bool32"]),
    "bfloat32": ({"code": BFLOAT}, ["dtype", "bfloat32"]),
    "int4": ({"code": INT, "bits": 4}, ["dtype", "int4"]),
    "uint1": ({"code": UINT, "bits": 1}, ["dtype", "uint1"]),
    "int3, padded": ({"code": INT, "bits": 3, "flags": SUB_BYTE_PADDED}, ["dtype", "int3"]),
    "float4": ({"code": 17, "bits": 4}, ["dtype", "float4_e2m1fn"]),
    "complex32": ({"code": COMPLEX, "bits": 32}, ["complex64"]),
}


@pytest.mark.parametrize("bad", list(BAD))
@BOTH
def test_e4_malformed_structs_are_refused_and_freed(bad: str, versioned: bool) -> None:
    bent, words = BAD[bad]
    if "flags" in bent and not versioned:
        pytest.skip("the unversioned struct has no flags")
    for convert in (ashore.to_numpy, ashore.plan):
        x = Producer(versioned=versioned, **bent)
        refuses(TypeError, lambda x=x, convert=convert: convert(x), *words)
        assert (x.freed, x.asked) == (1, 1)
    x = Producer(versioned=versioned, **bent)
    if bad != "complex32":  # which PyTorch has
        refuses(TypeError, lambda: ashore.to_torch(x), *words)
        assert x.freed == 1
    x = Producer(versioned=versioned, **bent)
    refuses(TypeError, lambda: ashore.to_numpy([x], copy=True), *words)
    assert x.freed == 1


def test_n9_the_major_version_is_honoured() -> None:
    for version in ((0, 8), (2, 0), (2**32 - 1, 0)):
        x = Producer(version=version, data=0x10, ndim=-7, shape=None)
        refuses(TypeError, lambda x=x: ashore.to_numpy(x), f"version {version[0]}")
        assert x.freed == 1
    assert_same(ashore.to_numpy(Producer(version=(1, 99))), Producer().array)


def test_n9_strides_and_offsets() -> None:
    base = np.arange(24, dtype=np.int32)
    start = address(base)
    cases = [
        ({"strides": None}, base[:6].reshape(2, 3)),
        ({"strides": None, "byte_offset": 8}, base[2:8].reshape(2, 3)),
        ({"strides": (6, 2), "byte_offset": 4}, base[1:13].reshape(2, 6)[:, ::2]),
        ({"strides": (-3, 1), "byte_offset": 12}, base[:6].reshape(2, 3)[::-1]),
        ({"strides": (0, 1)}, np.broadcast_to(base[:3], (2, 3))),
        ({"strides": (1, 1)}, np.lib.stride_tricks.as_strided(base, (2, 3), (4, 4))),
    ]
    for bent, want in cases:
        x = Producer(base, ndim=2, shape=(2, 3), **bent)
        got = ashore.to_numpy(x, copy=False)
        assert_same(got, want)
        assert got.strides == want.strides and address(got) == address(want)
        overlaps = bent["strides"] in ((0, 1), (1, 1))
        assert got.flags.writeable is not overlaps  # N3
        assert_same(ashore.to_numpy(x, copy=True), want)
    scalar = ashore.to_numpy(Producer(base, ndim=0, shape=None, strides=None, byte_offset=20))
    assert scalar.shape == () and scalar == 5 and address(scalar) == start + 20


def test_n9_unaligned_data() -> None:
    memory = np.zeros(33, np.uint8)
    unaligned = memory[1:].view(np.float32)
    unaligned[:] = np.arange(8)
    got = ashore.to_numpy(Producer(unaligned), copy=False)
    assert_same(got, unaligned)
    assert not got.flags.aligned
    assert ashore.to_torch(Producer(unaligned)).tolist() == unaligned.tolist()
    refuses(ValueError, lambda: ashore.to_torch(Producer(unaligned), copy=False), "copy", "aligned")


def test_n9_read_only_flag() -> None:
    x = Producer(flags=READ_ONLY)
    out = ashore.to_numpy(x, copy=False)
    assert not out.flags.writeable and address(out) == address(x.array)
    own = ashore.to_numpy(x, copy=True)
    own[0, 0] = 9
    assert x.array[0, 0] == 0
    assert ashore.to_torch(x).data_ptr() != address(x.array)  # T3
    refuses(ValueError, lambda: ashore.to_torch(x, copy=False), "copy", "read-only")


def test_n9_a_copy_made_for_us_is_ours() -> None:
    x = Producer(flags=IS_COPIED)
    assert address(ashore.to_numpy(x, copy=True)) == address(x.array)
    assert address(ashore.to_numpy(x)) == address(x.array)
    refuses(ValueError, lambda: ashore.to_numpy(x, copy=False), "copy")
    for bent in ({"flags": IS_COPIED | READ_ONLY}, {"flags": IS_COPIED, "strides": (0, 1)}):
        own = ashore.to_numpy(Producer(**bent), copy=True)  # C1: writable, whatever came
        assert own.flags.writeable and own.flags.owndata


@pytest.mark.parametrize("device", [CUDA_HOST, ROCM_HOST])
def test_n9_pinned_memory_is_host_memory(device: int) -> None:
    x = Producer(device=(device, 0))
    out = ashore.to_numpy(x)
    assert_same(out, x.array)
    assert address(out) == address(x.array) and x.keywords is not None
    assert "stream" not in x.keywords


@pytest.mark.parametrize(
    ("device", "word"),
    [
        ((CUDA, 0), "CUDA"),
        ((CUDA, 7), "CUDA device 7"),
        ((CUDA_MANAGED, 0), "CUDA"),
        ((OPENCL, 0), "OpenCL"),
        ((EXT_DEV, 3), "extension device 3"),
        ((99, 0), "99"),
        ((-1, 0), "-1"),
    ],
)
def test_e2_device_memory_is_never_read(device: tuple[int, int], word: str) -> None:
    for convert in (ashore.to_numpy, ashore.to_torch, ashore.to_image):
        x = Producer(device=device, data=0x1000)
        refuses(RuntimeError, lambda x=x, convert=convert: convert(x), word)
        assert x.asked == 0
    refuses(ValueError, lambda: ashore.to_numpy(Producer(device=device), copy=False), "copy")
    liar = Producer(device=device, data=0x1000, says_device=(1, 0))
    refuses(RuntimeError, lambda: ashore.to_numpy(liar), word)
    assert liar.freed == 1


def test_d2_dtypes_of_dlpack() -> None:
    pattern = np.arange(256, dtype=np.uint8)
    for name in (
        "float8_e3m4",
        "float8_e4m3",
        "float8_e4m3b11fnuz",
        "float8_e4m3fn",
        "float8_e5m2",
    ):
        array = pattern.view(getattr(ml_dtypes, name))
        got = ashore.to_numpy(Producer(array))
        assert got.dtype == array.dtype and bits(got) == bits(pattern)
    for code, width, name in ((INT, 4, "int4"), (UINT, 2, "uint2"), (17, 4, "float4_e2m1fn")):
        nibbles = np.array([0, 1, 1], np.uint8)
        x = Producer(nibbles, code=code, bits=width, flags=SUB_BYTE_PADDED)
        got = ashore.to_numpy(x)
        assert got.dtype == getattr(ml_dtypes, name) and address(got) == address(nibbles)
    assert ashore.to_numpy(Producer(np.array([2, 0], np.uint8), code=BOOL), dtype=int).sum() == 1
    assert FLOAT == 2
