"""Contract C1, C4, C5, N1, N8, T3: any dtype, layout and protocol, with NumPy as the oracle."""

from __future__ import annotations

import itertools
from typing import Any

import ashore
import numpy as np
import pytest
import torch
from checks import address, assert_same, bits, is_plain_array
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from layouts import BUILTIN, ML, PROTOCOLS, TORCH, behind, dtype_of, layouts

EVERY = BUILTIN + ML


def strides(array: np.ndarray) -> list[int]:
    """Return the strides that count: those of axes with more than one element."""
    return list(itertools.compress(array.strides, (n > 1 for n in array.shape)))


def overlaps(array: np.ndarray) -> bool:
    return array.size > 0 and any(
        s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(array=layouts(EVERY))
def test_n8_any_producer_gives_the_array_it_has(protocol: str, array: np.ndarray) -> None:
    x = behind(array, protocol)
    assume(x is not None)
    got = ashore.to_numpy(x)
    assert_same(got, array)
    assert got.dtype.isnative == array.dtype.isnative
    if array.size:  # C1: nothing has to change, so it shares, layout and all
        assert address(got) == address(array)
        assert strides(got) == strides(array)
        wide = protocol.startswith("dlpack") and overlaps(array)
        assert got.flags.writeable == (array.flags.writeable and not wide)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(array=layouts(EVERY))
def test_c5_copies_keep_the_order_of_axes(protocol: str, array: np.ndarray) -> None:
    x = behind(array, protocol)
    assume(x is not None)
    want = array.copy(order="K")
    got = ashore.to_numpy(x, copy=True)
    assert_same(got, want)
    assert strides(got) == strides(want)
    assert got.flags.writeable and got.flags.aligned and not np.shares_memory(got, array)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(array=layouts(EVERY))
def test_c5_order_c_gives_row_major(protocol: str, array: np.ndarray) -> None:
    x = behind(array, protocol)
    assume(x is not None)
    got = ashore.to_numpy(x, order="C")
    assert_same(got, array)
    assert got.flags.c_contiguous
    is_there = array.flags.c_contiguous
    assert np.shares_memory(got, array) == (is_there and array.size > 0)
    if is_there:
        ashore.to_numpy(behind(array, protocol), order="C", copy=False)
    else:
        with pytest.raises(ValueError, match="copy"):
            ashore.to_numpy(behind(array, protocol), order="C", copy=False)


@settings(max_examples=400)
@given(array=layouts(EVERY), target=st.sampled_from(EVERY), big=st.booleans())
def test_c4_casts_of_any_layout_are_those_of_astype(
    array: np.ndarray, target: str, big: bool
) -> None:
    wanted = dtype_of(target).newbyteorder(">") if big and target in BUILTIN else dtype_of(target)
    assume(not (array.dtype.name.startswith("complex") and "complex" not in wanted.name))
    want = cast(array, wanted)
    got = ashore.to_numpy(array, dtype=wanted)
    assert_same(got, want)
    if array.dtype == wanted:
        assert got is array  # C3
    else:
        assert strides(got) == strides(np.empty_like(array, dtype=wanted))
        assert got.flags.writeable and not np.shares_memory(got, array)
    out = np.full(array.shape[::-1], 0, wanted).T  # C6, with an order of its own
    assert ashore.to_numpy(array, out=out) is out
    assert_same(out, want)


def cast(array: np.ndarray, wanted: np.dtype[Any]) -> np.ndarray:
    try:
        return array.astype(wanted)
    except TypeError:  # NumPy has no cast between some of ml_dtypes; 1, 2 and 4 are exact anywhere
        return array.astype(np.float64).astype(wanted)


@given(array=layouts(EVERY))
def test_t3_an_array_becomes_a_tensor_or_says_why_not(array: np.ndarray) -> None:
    if array.dtype.name not in TORCH:
        with pytest.raises(TypeError, match="dtype"):
            ashore.to_torch(array)
        return
    tensor = ashore.to_torch(array)
    assert type(tensor) is torch.Tensor and tuple(tensor.shape) == array.shape
    assert not tensor.requires_grad and min(tensor.stride(), default=0) >= 0
    native = array.astype(array.dtype.newbyteorder("="))
    assert_same(ashore.to_numpy(tensor), native)
    if array.size == 0:
        return
    whole = all(
        n <= 1 or (s >= 0 and s % array.itemsize == 0)
        for s, n in zip(array.strides, array.shape, strict=True)
    )
    aligned = address(array) % np.dtype(native.dtype).alignment == 0
    can_share = whole and aligned and array.dtype.isnative and array.flags.writeable
    assert (tensor.data_ptr() == address(array)) == can_share
    assert tensor.data_ptr() % np.dtype(native.dtype).alignment == 0
    if can_share:
        assert ashore.to_torch(array, copy=False).data_ptr() == address(array)
    else:
        with pytest.raises(ValueError, match="copy"):
            ashore.to_torch(array, copy=False)
    own = ashore.to_torch(array, copy=True)
    assert own.data_ptr() != address(array)
    assert bits(ashore.to_numpy(own)) == bits(native)


@given(array=layouts(TORCH, swapped=False), target=st.sampled_from(TORCH))
def test_c4_casts_of_tensors_both_ways(array: np.ndarray, target: str) -> None:
    assume(not (array.dtype.kind == "c" and "complex" not in target))
    want = cast(array, dtype_of(target))
    tensor = ashore.to_torch(array)
    assert_same(ashore.to_numpy(tensor, dtype=target), want)
    got = ashore.to_torch(array, dtype=target)
    assert got.dtype == getattr(torch, target)
    assert_same(ashore.to_numpy(got), want)
    again = ashore.to_torch(tensor, dtype=getattr(torch, target))
    assert_same(ashore.to_numpy(again), want)


@given(array=layouts(TORCH, swapped=False))
def test_n1_views_of_tensors_carry_strides_and_offset(array: np.ndarray) -> None:
    assume(array.size > 0)
    tensor = ashore.to_torch(array, copy=True)
    view = tensor[..., None][tuple(slice(None, None, 1 + n % 2) for n in array.shape)]
    got = ashore.to_numpy(view)
    assert is_plain_array(got) and got.shape == tuple(view.shape)
    assert address(got) == view.data_ptr()
    assert got.strides == tuple(s * view.element_size() for s in view.stride())
