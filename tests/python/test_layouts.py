"""Large layout changes and casts against NumPy: every kernel, with and without threads (C4, C5)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import ashore
import ml_dtypes
import numpy as np
import pytest

DTYPES = [
    "uint8",
    "bool",
    "float16",
    "int32",
    "float32",
    "int64",
    "complex64",
    "complex128",
    "clongdouble",
]


@pytest.fixture(params=[1, 3], autouse=True)
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = ashore.get_num_threads()
    ashore.set_num_threads(request.param)
    yield request.param
    ashore.set_num_threads(before)


def numbers(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    count = int(np.prod(shape))
    return (np.arange(count, dtype=np.int64) * 7919 % 251).reshape(shape).astype(dtype)


def check(array: np.ndarray, dtype: Any = None) -> None:
    """Compare a fresh copy and one into memory at an odd place with NumPy's."""
    dtype = np.dtype(array.dtype.newbyteorder("=") if dtype is None else dtype)
    expected = np.ascontiguousarray(array).astype(dtype)
    got = ashore.to_numpy(array, copy=True, order="C", dtype=dtype)
    assert got.flags.c_contiguous and got.dtype == dtype
    assert got.tobytes() == expected.tobytes()
    memory = np.zeros(expected.nbytes + 128, np.uint8)
    out = memory[3 : 3 + expected.nbytes].view(dtype).reshape(expected.shape)
    ashore.to_numpy(array, out=out)
    assert out.tobytes() == expected.tobytes()
    assert not memory[:3].any() and not memory[3 + expected.nbytes :].any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(512, 512), (1000, 1003), (37, 9001), (7, 40_001), (3000, 5)])
def test_c5_transposes(shape: tuple[int, int], dtype: str) -> None:
    check(numbers(shape, dtype).T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [2, 3, 4, 5])
def test_c5_channels_first_and_last(channels: int, dtype: str) -> None:
    check(numbers((3, channels, 111, 113), dtype).transpose(0, 2, 3, 1))
    check(numbers((3, 111, 113, channels), dtype).transpose(0, 3, 1, 2))
    check(numbers((2, channels, 300, 301), dtype)[:, :, 5:200, 7:290].transpose(0, 2, 3, 1))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
def test_c5_steps_flips_slices_and_expanded_axes(dtype: str) -> None:
    a = numbers((700, 901), dtype)
    for view in (
        a[::-1],
        a[:, ::-1],
        a[::-1, ::-1],
        a[::-1, ::-1].T,
        a[:, ::2],
        a[:, ::3],
        a[::5, ::4],
        a[:, ::-7],
        a[:, 1:900],
        a.T[::2, ::-1],
        *(a[:, 3 : 3 + width] for width in (1, 2, 3, 5, 8, 13, 16, 31, 64, 100, 300)),
        np.broadcast_to(a[:, :1], a.shape),
        np.broadcast_to(a[:1], a.shape),
        np.broadcast_to(a[:90, None, :90], (90, 50, 90)),
    ):
        check(view)
        check(view, "float64" if dtype != "complex128" else "complex64")


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_c5_every_permutation_of_five_axes(dtype: str) -> None:
    a = numbers((6, 8, 17, 5, 64), dtype)
    for axes in permutations(range(5)):
        check(a.transpose(axes))


@pytest.mark.parametrize("order", ["<", ">"])
def test_c4_swapped_bytes_at_any_layout(order: str) -> None:
    for dtype in ("u2", "f4", "i8", "c8", "c16", "g"):
        a = numbers((600, 501), dtype).astype(np.dtype(dtype).newbyteorder(order))
        for view in (a, a.T, a[:, ::2], a[::-1], a[:, :33]):
            check(view)
            check(view, "c16")
            check(view, np.dtype(dtype).newbyteorder(">"))


@pytest.mark.parametrize("seed", range(40))
def test_c4_random_pairs_and_layouts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [*DTYPES[:6], "float64", "uint16", "int8", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]
    source, to = (np.dtype(names[rng.integers(len(names))]) for _ in range(2))
    ndim = int(rng.integers(1, 6))
    shape = tuple(int(n) for n in rng.integers(1, [0, 900_000, 900, 90, 30, 16][ndim] + 2, ndim))
    array = numbers(shape, "int64") % 16
    view = array.astype(source).transpose(rng.permutation(ndim))
    steps = rng.choice([1, 1, 1, 2, -1, -3], ndim)
    check(view[tuple(slice(None, None, int(step)) for step in steps)], to)


def test_c6_destinations_with_gaps_and_other_orders() -> None:
    a = numbers((600, 700), "float32")
    memory = np.zeros((700, 1200), np.float64)
    for out in (memory.T[::2, :], memory[:600, ::-1][:, :700], memory[:600, 100:800]):
        memory[:] = -1
        ashore.to_numpy(a, out=out)
        assert np.array_equal(out, a) and (memory == -1).sum() == memory.size - a.size
