"""Contract N6, N7: numbers that are data themselves."""

from __future__ import annotations

import enum
from typing import Any

import ashore
import ml_dtypes
import numpy as np
import pytest
import torch
from checks import is_plain_array, refuses


class Color(enum.IntEnum):
    RED = 3


class Real(float):
    pass


def test_n6_scalars_become_new_arrays_of_no_axes() -> None:
    for x, dtype in (
        (True, "bool"),
        (3, "int64"),
        (-(2**63), "int64"),
        (2**63, "uint64"),
        (2**64 - 1, "uint64"),
        (3.5, "float64"),
        (1j, "complex128"),
        (Color.RED, "int64"),
        (Real(2.5), "float64"),
        (float("nan"), "float64"),
        (np.bool_(True), "bool"),
        (np.int8(-3), "int8"),
        (np.float16(2), "float16"),
        (np.float64(2), "float64"),
        (np.longdouble(2), "longdouble"),
        (np.complex64(2j), "complex64"),
        (ml_dtypes.bfloat16(2), ml_dtypes.bfloat16),
        (ml_dtypes.int4(-3), ml_dtypes.int4),
        (np.str_("ab"), "<U2"),
        (np.bytes_(b"ab"), "S2"),
        (np.datetime64("2020-01-01"), "M8[D]"),
        (np.array([(1, 2.0)], "i4,f8")[0], "i4,f8"),
    ):
        for copy in (None, True):
            out = ashore.to_numpy(x, copy=copy)
            assert is_plain_array(out) and out.shape == () and out.dtype == np.dtype(dtype)
            assert out.flags.writeable and (out == x or x != x)
        refuses(ValueError, lambda x=x: ashore.to_numpy(x, copy=False), "copy")
    assert ashore.to_numpy(3, dtype="float16").dtype == np.float16
    refuses(TypeError, lambda: ashore.to_numpy(1j, dtype="float32"), "imaginary")


@pytest.mark.parametrize(
    ("x", "shape", "dtype"),
    [
        ([1, 2, 3], (3,), "int64"),
        ((1, 2, 3), (3,), "int64"),
        ([True, False], (2,), "bool"),
        ([True, 2], (2,), "int64"),
        ([1, 2.5], (2,), "float64"),
        ([1, 2j], (2,), "complex128"),
        ([[1, 2], (3, 4)], (2, 2), "int64"),
        ([[[1.0]]], (1, 1, 1), "float64"),
        ([2**63], (1,), "uint64"),
        ([-(2**63), 2**63 - 1], (2,), "int64"),
        ([2**63, 1.5], (2,), "float64"),
        ([np.float32(1), np.float32(2)], (2,), "float32"),
        ([np.float64(1)], (1,), "float64"),
        ([np.int8(1), np.uint8(2)], (2,), "int16"),
        ([ml_dtypes.bfloat16(1)], (1,), ml_dtypes.bfloat16),
        ([np.longdouble(1), 2], (2,), "longdouble"),
        ([Color.RED, 1], (2,), "int64"),
    ],
)
def test_n7_lists_of_numbers_are_data(x: Any, shape: tuple[int, ...], dtype: Any) -> None:
    out = ashore.to_numpy(x)
    assert is_plain_array(out) and out.shape == shape and out.dtype == np.dtype(dtype)
    assert out.tolist() == np.array(x).tolist()
    assert ashore.tensors_to_numpy(x)[0].shape == shape
    refuses(ValueError, lambda: ashore.to_numpy(x, copy=False), "copy")
    assert ashore.to_numpy(x, dtype="complex64").dtype == np.complex64


def test_n7_to_torch_has_torchs_own_defaults() -> None:
    for x, want in (
        (1.5, torch.float32),
        ([1, 2.5], torch.float32),
        ((1.5, True), torch.float32),
        (2j, torch.complex64),
        ([1.5, 2j], torch.complex64),
        (True, torch.bool),
        ([True], torch.bool),
        (3, torch.int64),
        ([1, True], torch.int64),
        (2**63, torch.uint64),
        (np.float64(1), torch.float64),
        ([np.float64(1)], torch.float64),
        ([np.float32(1), 2.0], torch.float32),
        (np.float16(1), torch.float16),
        (np.int16(1), torch.int16),
        ([ml_dtypes.bfloat16(1)], torch.bfloat16),
    ):
        tensor = ashore.to_torch(x)
        assert tensor.dtype == want and tensor.tolist() == np.array(x).tolist()
        refuses(ValueError, lambda x=x: ashore.to_torch(x, copy=False), "copy")
        assert ashore.to_torch(x, dtype="float64" if want.is_floating_point else None) is not None
    torch.set_default_dtype(torch.float64)
    try:
        assert ashore.to_torch(1.5).dtype == torch.float64
        assert ashore.to_torch([1j]).dtype == torch.complex128
        assert ashore.to_numpy(1.5).dtype == np.float64
        torch.set_default_dtype(torch.bfloat16)
        assert ashore.to_torch([1.5, 2]).dtype == torch.bfloat16
        torch.set_default_dtype(torch.float16)
        assert ashore.to_torch(1.5).dtype == torch.float16
        assert ashore.to_torch(1j).dtype == torch.complex32
    finally:
        torch.set_default_dtype(torch.float32)


def test_n7_ragged() -> None:
    for x in ([[1, 2], [3]], [1, [2]], [[1], 2], [[], [1]], [[1], []], ([1], [[2]]), [[1, [2]], 3]):
        for convert in (ashore.to_numpy, ashore.to_torch, ashore.plan, ashore.to_image):
            refuses(ValueError, lambda x=x, convert=convert: convert(x), "ragged")


def test_n7_ints_past_64_bits() -> None:
    for x in (2**64, -(2**63) - 1, [2**64], [[1], [10**30]], [2**64, 1.5], [2**63, -1]):
        for convert in (ashore.to_numpy, ashore.to_torch, ashore.plan):
            refuses(TypeError, lambda x=x, convert=convert: convert(x), "64 bits")


def test_n7_empty_lists_stay_what_they_are() -> None:
    for x in ([], (), [[]], [[], []], ([],), {"a": []}):
        for convert in (ashore.to_numpy, ashore.to_torch):
            out = convert(x)
            assert out == x and type(out) is type(x)


def test_n7_only_exact_lists_and_tuples_are_data() -> None:
    class Mine(list):
        pass

    assert ashore.to_numpy(Mine([1, 2])) == [1, 2]
    assert ashore.to_numpy(torch.Size([1, 2])) == torch.Size([1, 2])
    assert ashore.to_numpy({"a": [1, 2], "b": (1, (2, 3))}) == {"a": [1, 2], "b": (1, (2, 3))}
    assert ashore.to_numpy([1, "a"]) == [1, "a"] and ashore.to_numpy([1, None]) == [1, None]
    for x in ([np.float64(1), "a"], {"x": np.float64(2)}, [np.str_("a")], [np.bytes_(b"a"), 1]):
        out = ashore.to_numpy(x)
        leaves = list(out.values()) if isinstance(out, dict) else out
        kept = list(x.values()) if isinstance(x, dict) else x
        assert all(a is b for a, b in zip(leaves, kept, strict=True))
        assert ashore.to_torch(x) == x
    mixed = ashore.to_numpy([1, torch.ones(1), [2, 3]])
    assert mixed[0] == 1 and is_plain_array(mixed[1]) and mixed[2] == [2, 3]


def test_n7_as_many_axes_as_an_array_may_have() -> None:
    deep: Any = 1
    for _ in range(64):
        deep = [deep]
    assert ashore.to_numpy(deep).shape == (1,) * 64
    assert ashore.to_numpy([deep]) == [deep]  # one more is a container
    shared: Any = [1.0]
    for _ in range(18):
        shared = [shared, shared]
    assert ashore.to_numpy(shared).shape == (2,) * 18 + (1,)


def test_e4_lists_without_end_are_refused_in_time() -> None:
    shared: Any = [1.0]
    for _ in range(60):
        shared = [shared, shared]
    refuses(ValueError, lambda: ashore.to_numpy(shared), "numbers")
    ring: list[Any] = [1]
    ring.append(ring)
    refuses(ValueError, lambda: ashore.to_numpy(ring), "itself")
