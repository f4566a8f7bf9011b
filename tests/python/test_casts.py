"""Contract C3, C4, D1, D2: every cast against NumPy's and ml_dtypes' own `astype`, bit for bit."""

from __future__ import annotations

import itertools

import ashore
import ml_dtypes
import numpy as np
import pytest

BUILTIN = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 longdouble "
    "complex64 complex128 clongdouble"
).split()
ML = (
    "bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
    "float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int1 int2 int4 uint1 "
    "uint2 uint4 complex32 bcomplex32"
).split()
TINY = ("int1", "int2", "int4", "uint1", "uint2", "uint4")
PARTS = {"complex32": np.float16, "bcomplex32": ml_dtypes.bfloat16}
SMALL = [name for name in ML if name not in TINY and name not in PARTS] + ["float16"]


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name)) if name in ML else np.dtype(name)


def is_complex(name: str) -> bool:
    return "complex" in name or name == "clongdouble"


def is_integer(name: str) -> bool:
    return name.startswith(("int", "uint")) or name == "bool"


@np.errstate(all="ignore")
def values_for(name: str) -> np.ndarray:
    """Awkward values of a dtype: all patterns of one- and two-byte types, else edges and noise."""
    dtype = dtype_of(name)
    rng = np.random.default_rng(7)
    if name == "bool":
        return np.array([False, True])
    if name in TINY:
        width, signed = int(name[-1]), name[0] == "i"
        low, high = (-(1 << width - 1), 1 << width - 1) if signed else (0, 1 << width)
        return np.arange(low, high).astype(dtype)
    if name in PARTS:
        return values_for("complex64").astype(dtype)
    if dtype.itemsize == 1 and name in ML:
        bits = {"float6_e2m3fn": 64, "float6_e3m2fn": 64, "float4_e2m1fn": 16}.get(name, 256)
        return np.arange(bits, dtype=np.uint8).view(dtype)
    if dtype.itemsize == 2 and not is_integer(name):
        return np.arange(1 << 16, dtype=np.uint16).view(dtype)
    if is_integer(name):
        info = np.iinfo(dtype)
        edges = [info.min, info.min + 1, 0, 1, 2, 7, 100, info.max - 1, info.max]
        noise = rng.integers(info.min, info.max, 500, dtype=dtype, endpoint=True)
        ties = np.array([(1 << k) + d for k in range(2, 62) for d in (-1, 0, 1)], dtype=object)
        ties = ties[(ties <= info.max) & (ties >= info.min)].astype(dtype)
        return np.concatenate([np.array(edges, dtype=dtype), noise, ties])
    real = np.concatenate(
        [
            rng.standard_normal(400) * 10.0 ** rng.integers(-12, 12, 400),
            np.arange(-300, 300) / 4.0,
            [
                0.0,
                -0.0,
                1e-45,
                6e-8,
                65504,
                65519.99,
                65520,
                448,
                464,
                465,
                240,
                57344,
                61440,
                3e38,
            ],
            np.array([np.inf, -np.inf, np.nan]),
        ]
    )
    if dtype.kind == "c":
        return (real + 1j * real[::-1]).astype(dtype)
    return real.astype(dtype)


def in_range(values: np.ndarray, target: str) -> np.ndarray:
    """Say which values the target integer dtype holds after cutting the fraction off."""
    with np.errstate(all="ignore"):
        wide = values.astype(np.longdouble)
    if target == "bool":
        return np.ones(values.shape, bool)
    if target in TINY:
        width, signed = int(target[-1]), target[0] == "i"
        low, high = (-(1 << width - 1), 1 << width - 1) if signed else (0, 1 << width)
    else:
        info = np.iinfo(dtype_of(target))
        low, high = info.min, info.max + 1
    with np.errstate(all="ignore"):
        return np.isfinite(wide) & (np.trunc(wide) >= low) & (np.trunc(wide) < high)


def assert_same_values(got: np.ndarray, want: np.ndarray) -> None:
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.name in PARTS:
        part = PARTS[want.dtype.name]
        assert_same_values(got.view(part), want.view(part))
        return
    if want.dtype.kind == "c":
        for part in ("real", "imag"):
            assert_same_values(getattr(got, part), getattr(want, part))
        return
    with np.errstate(invalid="ignore"):
        nan = want != want
        assert np.array_equal(got != got, nan)
    if want.dtype == np.longdouble:  # long double has padding bytes
        assert np.array_equal(got[~nan], want[~nan])
        assert np.array_equal(np.signbit(got[~nan]), np.signbit(want[~nan]))
        return
    assert got[~nan].tobytes() == want[~nan].tobytes()


@pytest.mark.parametrize(("source", "target"), list(itertools.product(BUILTIN + ML, repeat=2)))
def test_c4_values_are_those_of_astype(source: str, target: str) -> None:
    values = values_for(source)
    if is_complex(source) and not is_complex(target):
        with pytest.raises(TypeError, match="imaginary"):
            ashore.to_numpy(values, dtype=target)
        return
    if is_integer(target) and not is_integer(source):
        values = values[in_range(values, target)]
    assert_same_values(ashore.to_numpy(values, dtype=target), by_astype(values, source, target))


def by_astype(values: np.ndarray, source: str, target: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        try:
            # ml_dtypes 0.6 gives 1+0j for every number here.
            if {source, target} != set(PARTS):
                return values.astype(dtype_of(target))
        except TypeError:
            pass
        # NumPy has no cast between some of ml_dtypes' types; the first step of this one is exact.
        whole = is_integer(source) and is_integer(target)
        between = np.complex64 if is_complex(source) else np.int8 if whole else np.float32
        return values.astype(between).astype(dtype_of(target))


@pytest.mark.parametrize("target", ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"])
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64", "longdouble"])
def test_c4_out_of_range_saturates(source: str, target: str) -> None:
    with np.errstate(all="ignore"):
        values = np.array([np.nan, np.inf, -np.inf]).astype(dtype_of(source))
    info = np.iinfo(target)
    for layout in (values, np.repeat(values, 2)[::2], values.reshape(1, 3).T):
        got = ashore.to_numpy(layout, dtype=target).ravel().tolist()
        assert got == [0, info.max, info.min]


@pytest.mark.parametrize("name", SMALL)
def test_c4_widening_is_exact(name: str) -> None:
    values = values_for(name)
    for target in ("float32", "float64"):
        with np.errstate(all="ignore"):
            want = values.astype(target)
        assert_same_values(ashore.to_numpy(values, dtype=target), want)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("name", ["int16", "int32", "float16", "float32", "float64", "complex64"])
def test_c3_byte_order_is_part_of_the_dtype(name: str, order: str) -> None:
    values = values_for(name)[:300]
    wanted = np.dtype(name).newbyteorder(order)
    got = ashore.to_numpy(values, dtype=wanted)
    assert got.dtype == wanted and got.dtype.isnative == wanted.isnative
    assert got.tobytes() == values.astype(wanted).tobytes()
    back = ashore.to_numpy(got, dtype=name)
    assert back.dtype.isnative and back.tobytes() == values.tobytes()
    assert (ashore.to_numpy(values, dtype=wanted) is values) == wanted.isnative
