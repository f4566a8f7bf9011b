"""Contract I1: pictures of any layout and dtype, with NumPy's own arithmetic as the oracle."""

from __future__ import annotations

from typing import Any

import ashore
import ml_dtypes
import numpy as np
import pytest
import torch
from checks import is_plain_array, refuses
from hypothesis import given
from hypothesis import strategies as st
from layouts import behind


def scaled(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Apply the rule in NumPy: each step rounded by itself, in float32 (float64 for float64)."""
    kind = np.float64 if x.dtype == np.float64 else np.float32
    with np.errstate(all="ignore"):
        wide = x.astype(kind)
        factor = kind(255) / (kind(high) - kind(low))
        rounded = np.rint((wide - kind(low)) * factor)
        return np.where(np.isnan(rounded), 0, np.clip(rounded, 0, 255)).astype(np.uint8)


def assert_image(got: Any, want: np.ndarray) -> None:
    assert is_plain_array(got) and got.dtype == np.uint8 and got.flags.c_contiguous
    assert got.flags.writeable and got.shape == want.shape
    assert (got == want).all()


NOISE = np.random.default_rng(3)


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("batch", [False, True])
def test_i1_layouts_and_batches(channels: int, batch: bool) -> None:
    chw = NOISE.random((2, channels, 5, 6), dtype=np.float32)
    chw = chw if batch else chw[0]
    hwc = np.moveaxis(chw, -3, -1)
    want = scaled(hwc, 0, 1)
    for x in (chw, torch.from_numpy(chw), ashore.to_torch(chw), chw[..., ::-1][..., ::-1]):
        assert_image(ashore.to_image(x), want)
        assert_image(ashore.to_image(x, layout="CHW"), want)
    for x in (hwc, torch.from_numpy(hwc), np.ascontiguousarray(hwc)):
        assert_image(ashore.to_image(x), want)
        assert_image(ashore.to_image(x, layout="HWC"), want)
    grey = chw[..., 0, :, :] if not batch else chw[0, 0]
    assert_image(ashore.to_image(grey), scaled(grey, 0, 1)[..., None])


def test_i1_both_ends_could_be_channels() -> None:
    x = NOISE.random((3, 5, 3))
    text = refuses(ValueError, lambda: ashore.to_image(x), "layout")
    assert "CHW" in text and "HWC" in text
    assert_image(ashore.to_image(x, layout="HWC"), scaled(x, 0, 1))
    assert_image(ashore.to_image(x, layout="CHW"), scaled(np.moveaxis(x, 0, -1), 0, 1))


def test_i1_values_and_ranges() -> None:
    edges = [0, 1, 0.5, -0.0, -1, 2, np.nan, np.inf, -np.inf, 1e-45, 1e30, -1e30]
    ties = (np.arange(600) / 2 / 255).tolist() + (np.arange(256) / 255).tolist()
    values = np.array([*edges, *ties], dtype=np.float64)[None]
    for dtype in (np.float16, np.float32, np.float64, np.longdouble, ml_dtypes.bfloat16):
        with np.errstate(all="ignore"):
            x = values.astype(dtype)
        assert_image(ashore.to_image(x), scaled(x, 0, 1)[..., None])
        for low, high in ((-1, 1), (0.1, 0.7), (-3.5, 1000), (0, 255), (1e-3, 2e-3)):
            got = ashore.to_image(x, value_range=(low, high))
            assert_image(got, scaled(x, low, high)[..., None])
            assert_image(ashore.to_image(x, value_range=[low, high]), got)


def test_i1_integers() -> None:
    every = np.arange(256, dtype=np.uint8).reshape(16, 16)
    assert_image(ashore.to_image(every), every[..., None])
    assert_image(ashore.to_image(every, value_range=(0, 255)), every[..., None])
    assert_image(ashore.to_image(every, value_range=(0, 127)), scaled(every, 0, 127)[..., None])
    for dtype in (np.int8, np.uint16, np.int32, np.int64, np.uint64, bool, ">i2"):
        x = NOISE.integers(0, 2 if dtype is bool else 120, (4, 5)).astype(dtype)
        refuses(ValueError, lambda x=x: ashore.to_image(x), "value_range")
        for low, high in ((0, 1), (-5, 100)):
            got = ashore.to_image(x, value_range=(low, high))
            assert_image(got, scaled(x, low, high)[..., None])


def test_i1_bgr() -> None:
    for channels, order in ((1, [0]), (3, [2, 1, 0]), (4, [2, 1, 0, 3])):
        x = NOISE.integers(0, 255, (5, 6, channels), dtype=np.uint8)
        assert_image(ashore.to_image(x, channels="bgr", layout="HWC"), x[..., order])
        assert_image(ashore.to_image(x, channels="rgb", layout="HWC"), x)
        batch = NOISE.random((2, channels, 5, 6), dtype=np.float32)
        want = scaled(np.moveaxis(batch, 1, -1), 0, 1)[..., order]
        assert_image(ashore.to_image(batch, channels="bgr", layout="CHW"), want)


@given(
    shape=st.tuples(st.integers(0, 2), st.integers(0, 7), st.integers(0, 6)),
    dtype=st.sampled_from([np.uint8, np.float32, ">f4", np.float64, np.float16]),
    protocol=st.sampled_from(["ndarray", "__array__", "interface", "buffer"]),
    back=st.booleans(),
)
def test_i1_any_layout(shape: Any, dtype: Any, protocol: str, back: bool) -> None:
    count = int(np.prod(shape)) * 3
    chw = np.resize(np.arange(0, 1, 0.013), count).reshape(shape[0], 3, *shape[1:])
    x = (chw * (255 if dtype is np.uint8 else 1)).astype(dtype)
    x = x[:, :, ::-1, ::2] if back else x.transpose(0, 1, 3, 2)
    got = ashore.to_image(behind(x, protocol), layout="CHW")
    last = np.moveaxis(x, 1, -1)
    assert_image(
        got, last if dtype is np.uint8 else scaled(last.astype(last.dtype.newbyteorder("=")), 0, 1)
    )


def test_i1_tensors_of_every_kind() -> None:
    x = torch.rand(3, 4, 5, requires_grad=True)
    want = scaled(np.moveaxis(x.detach().numpy(), 0, -1), 0, 1)
    assert_image(ashore.to_image(x), want)
    assert_image(ashore.to_image(x.detach().bfloat16().float()), ashore.to_image(x.bfloat16()))
    assert_image(ashore.to_image(torch._neg_view(-x.detach())), want)
    assert_image(ashore.to_image(x.detach()[:, :1].expand(3, 4, 5)), want[:1].repeat(4, 0))
    assert_image(ashore.to_image(torch._efficientzerotensor((3, 4, 5))), np.zeros((4, 5, 3), "u1"))
    assert_image(
        ashore.to_image([[0.0, 1.0], [0.5, 2.0]]), np.array([[[0], [255]], [[128], [255]]])
    )
    big = torch.rand(2, 3, 200, 300)
    assert_image(ashore.to_image(big), scaled(np.moveaxis(big.numpy(), 1, -1), 0, 1))


def test_i1_what_is_no_image() -> None:
    for shape in ((), (3,), (5, 5, 5, 5, 5), (1, 1, 1, 1, 1)):
        refuses(ValueError, lambda shape=shape: ashore.to_image(np.ones(shape)), "axes")
    for shape in ((5, 6, 7), (2, 5, 6, 7), (2, 6, 7)):
        refuses(ValueError, lambda shape=shape: ashore.to_image(np.ones(shape)), "channels")
    refuses(ValueError, lambda: ashore.to_image(np.ones((3, 5, 6)), layout="HWC"), "channels")
    x = np.ones((3, 5, 6))
    for wrong in ((1, 0), (0, 0), (0,), (0, 1, 2), "ab", 3, (0, np.inf), (np.nan, 1), (None, 1)):
        refuses(ValueError, lambda w=wrong: ashore.to_image(x, value_range=w), "value_range")
    for wrong in ("chw", "NCHW", 3, b"CHW"):
        refuses(ValueError, lambda w=wrong: ashore.to_image(x, layout=w), "layout")
    for wrong in ("RGB", None, 3):
        refuses(ValueError, lambda w=wrong: ashore.to_image(x, channels=w), "channels")
    for bad in (np.ones((3, 5, 6), complex), torch.ones(3, 5, 6, dtype=torch.complex64)):
        refuses(TypeError, lambda bad=bad: ashore.to_image(bad), "complex")
    refuses(TypeError, lambda: ashore.to_image(np.array([["a"]])), "<U1")
    refuses(TypeError, lambda: ashore.to_image([np.ones((2, 2))]), "list")
