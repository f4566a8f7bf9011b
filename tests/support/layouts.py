"""Arrays of any layout and the same array behind any protocol, for the property tests."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from dlpack_producer import CODES, Producer
from hypothesis import strategies as st

BUILTIN = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 longdouble "
    "complex64 complex128 clongdouble"
).split()
ML = (
    "bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
    "float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn int4 uint4"
).split()
TORCH = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 "
    "complex128 bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"
).split()


def dtype_of(name: str) -> np.dtype[Any]:
    """Return NumPy's or ml_dtypes' dtype of that name."""
    return np.dtype(getattr(ml_dtypes, name)) if name in ML else np.dtype(name)


def numbers(shape: tuple[int, ...], name: str) -> np.ndarray:
    """Return an array of 1, 2 and 4, which every dtype holds exactly (bool: True)."""
    count = int(np.prod(shape, dtype=np.int64))
    return np.resize(np.array([1, 2, 4, 2], np.int8), count).reshape(shape).astype(dtype_of(name))


@st.composite
def layouts(draw: st.DrawFn, names: list[str], *, swapped: bool = True) -> np.ndarray:
    """Draw an array: any of the dtypes; axes permuted, reversed, stepped, broadcast and cut out;
    memory unaligned, of the other byte order, or the field of a packed record."""
    name = draw(st.sampled_from(names))
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    array = numbers(shape, name)
    where = draw(st.sampled_from(["compact", "compact", "unaligned", "field"]))
    if where == "unaligned":
        memory = np.zeros(array.nbytes + 1, np.uint8)
        moved = memory[1:].view(array.dtype).reshape(shape) if array.size else array
        moved[...] = array
        array = moved
    elif where == "field":
        record = np.zeros(shape, np.dtype([("tag", "u1"), ("x", array.dtype)]))
        record["x"] = array
        array = record["x"]
    if swapped and name in BUILTIN and draw(st.booleans()):
        array = array.astype(array.dtype.newbyteorder())
    if array.ndim:
        array = array.transpose(draw(st.permutations(range(array.ndim))))
        steps = st.sampled_from([1, 1, 2, -1, -2])
        array = array[tuple(slice(None, None, draw(steps)) for _ in range(array.ndim))]
    if draw(st.integers(0, 3)) == 0:
        axis = draw(st.integers(0, array.ndim))
        length = draw(st.integers(0, 3))
        wide = np.expand_dims(array, axis)
        array = np.broadcast_to(wide, (*wide.shape[:axis], length, *wide.shape[axis + 1 :]))
    if draw(st.integers(0, 5)) == 0:
        array.flags.writeable = False
    return array


class Plain(np.ndarray):
    """A subclass of ndarray with nothing of its own."""


class WithArray:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array


class WithInterface:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {**self.array.__array_interface__, "strides": self.array.strides}


def fits_dlpack(array: np.ndarray) -> bool:
    """Say whether DLPack can describe the array: native, strides of whole elements."""
    whole = all(stride % array.itemsize == 0 for stride in array.strides)
    return array.dtype.name in CODES and array.dtype.isnative and whole


def behind(array: np.ndarray, protocol: str) -> Any:
    """Return an object that gives exactly this array by the protocol, or None where it cannot."""
    if protocol == "ndarray":
        return array
    if protocol == "subclass":
        return array.view(np.matrix if array.ndim == 2 else Plain)
    if protocol == "__array__":
        return WithArray(array)
    if protocol in ("dlpack", "dlpack unversioned"):
        versioned = protocol == "dlpack"
        if not fits_dlpack(array) or not (versioned or array.flags.writeable):
            return None
        return Producer(array, versioned=versioned)
    if array.dtype.name not in BUILTIN:  # no other protocol can say it
        return None
    if protocol == "interface":
        return WithInterface(array)
    assert protocol == "buffer"
    return memoryview(array)


PROTOCOLS = [
    "ndarray",
    "subclass",
    "__array__",
    "dlpack",
    "dlpack unversioned",
    "interface",
    "buffer",
]
