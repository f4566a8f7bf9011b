"""Contract N8, E1, E4: `__array_interface__`, `__cuda_array_interface__` and buffers."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ashore
import numpy as np
import pytest
from checks import address, assert_same, is_plain_array, refuses

GOOD = {"shape": (4,), "typestr": "<f4", "version": 3}


def interface(**fields: Any) -> Any:
    return SimpleNamespace(__array_interface__={**GOOD, **fields})


def test_n8_array_interface_shares_and_keeps_alive() -> None:
    class Owner:
        def __init__(self) -> None:
            self.memory = np.arange(4, dtype=np.float32)
            self.asked = 0

        @property
        def __array_interface__(self) -> dict[str, Any]:
            self.asked += 1
            return {**GOOD, "data": (address(self.memory), False)}

    x = Owner()
    memory, watch = x.memory, weakref.ref(x)
    out = ashore.to_numpy(x)
    assert_same(out, memory)
    assert address(out) == address(memory) and x.asked == 1  # E3: asked once
    del x
    gc.collect()
    assert watch() is not None
    del out
    gc.collect()
    assert watch() is None


def test_n8_array_interface_on_buffers() -> None:
    memory = bytearray(np.arange(8, dtype=np.float32).tobytes())
    assert ashore.to_numpy(interface(data=memory)).tolist() == [0, 1, 2, 3]
    assert ashore.to_numpy(interface(data=memory, offset=16)).tolist() == [4, 5, 6, 7]
    assert ashore.to_numpy(interface(data=memory, strides=(8,))).tolist() == [0, 2, 4, 6]
    back = interface(data=memory, offset=28, strides=(-4,))
    assert ashore.to_numpy(back).tolist() == [7, 6, 5, 4]
    assert ashore.to_torch(back).tolist() == [7, 6, 5, 4]
    assert not ashore.to_numpy(interface(data=bytes(memory))).flags.writeable
    assert ashore.to_numpy(interface(shape=(0,), data=b"")).shape == (0,)

    class Own(bytearray):
        __array_interface__ = GOOD

    assert ashore.to_numpy(Own(memory)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "fields",
    [
        {"shape": (9,)},
        {"shape": (2**40,)},
        {"strides": (12,)},
        {"strides": (-4,)},
        {"strides": (2**61,)},
        {"offset": 20},
        {"offset": -4},
        {"offset": 2**62},
        {"offset": -(2**62), "strides": (-(2**60),)},
        {"shape": (2, 2), "strides": (24, 8)},
        {"shape": (5,), "typestr": "<U2"},
        {"shape": (5,), "typestr": "|V8"},
    ],
)
def test_e4_array_interface_past_its_buffer(fields: dict[str, Any]) -> None:
    x = interface(**{"data": bytearray(32), **fields})
    refuses(ValueError, lambda: ashore.to_numpy(x), "buffer")
    refuses(ValueError, lambda: ashore.to_numpy({"x": x}, copy=True), "buffer")


@pytest.mark.parametrize(
    "fields",
    [
        {"shape": None},
        {"shape": 4},
        {"shape": ("a",)},
        {"shape": (-4,)},
        {"shape": (2**40, 2**40)},
        {"shape": (1,) * 65},
        {"typestr": None},
        {"typestr": 4},
        {"typestr": "nonsense"},
        {"typestr": "|O8"},
        {"typestr": "|V8", "descr": [("x", "|O")]},
        {"strides": (4, 4)},
        {"strides": "x"},
        {"data": "text"},
        {"data": (0, False)},
        {"data": ("0x10", False)},
        {"data": None},
        {"data": 5},
    ],
)
def test_n8_malformed_array_interfaces(fields: dict[str, Any]) -> None:
    x = interface(**{"data": bytearray(32), **fields})
    for convert in (ashore.to_numpy, ashore.to_torch):
        refuses((TypeError, ValueError), lambda convert=convert: convert(x))
    for none in (3, "text", [], {}, object()):
        wrong = SimpleNamespace(__array_interface__=none)
        refuses((TypeError, ValueError), lambda wrong=wrong: ashore.to_numpy(wrong))


def test_n8_pointers_to_objects_are_never_taken() -> None:
    class Turncoat:
        asked = 0

        @property
        def __array_interface__(self) -> dict[str, Any]:
            self.asked += 1
            typestr = "<f8" if self.asked == 1 else "|O8"
            return {"shape": (1,), "typestr": typestr, "version": 3, "data": bytearray(8)}

    assert ashore.to_numpy(Turncoat()).tolist() == [0.0]


@pytest.mark.parametrize(
    "fields", [{"shape": (-3,)}, {"shape": 3}, {"typestr": "zzz"}, {"typestr": 3}, {"data": None}]
)
def test_n8_malformed_cuda_array_interfaces(fields: dict[str, Any]) -> None:
    good = {"shape": (3,), "typestr": "<f4", "data": (0x1000, False), "version": 3}
    x = SimpleNamespace(__cuda_array_interface__={**good, **fields})
    refuses((TypeError, ValueError), lambda: ashore.to_numpy(x))
    refuses(TypeError, lambda: ashore.to_numpy(SimpleNamespace(__cuda_array_interface__=7)))


class Point(ctypes.Structure):
    _fields_ = (("tag", ctypes.c_int8), ("x", ctypes.c_int32))


class Packed(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("tag", ctypes.c_int8), ("x", ctypes.c_int32))


class Either(ctypes.Union):
    _fields_ = (("i", ctypes.c_int32), ("f", ctypes.c_float))


class Bits(ctypes.Structure):
    _fields_ = (("low", ctypes.c_int8, 3), ("high", ctypes.c_int8, 5))


def test_n8_buffers_are_shared() -> None:
    numbers = array.array("d", [1, 2])
    for x, want in (
        (numbers, np.array([1.0, 2.0])),
        (bytearray(b"ab"), np.frombuffer(b"ab", np.uint8)),
        (bytearray(), np.zeros(0, np.uint8)),
        (memoryview(numbers), np.array([1.0, 2.0])),
        (memoryview(bytearray(8)).cast("B", (2, 4)), np.zeros((2, 4), np.uint8)),
        (memoryview(bytearray(range(4)))[::-2], np.array([3, 1], np.uint8)),
        ((ctypes.c_int16 * 3)(1, 2, 3), np.array([1, 2, 3], np.int16)),
        (((ctypes.c_float * 2) * 2)(), np.zeros((2, 2), np.float32)),
        (ctypes.c_int64(7), np.array(7)),
        (ctypes.c_int16.__ctype_be__(258), np.array(258, ">i2")),
        ((ctypes.c_bool * 2)(1, 0), np.array([True, False])),
    ):
        got = ashore.to_numpy(x)
        assert_same(got, want)
        assert got.flags.writeable
        assert_same(ashore.to_numpy(ashore.to_torch(x)), want.astype(want.dtype.newbyteorder("=")))
    ashore.to_numpy(numbers)[0] = 5
    assert numbers[0] == 5
    assert not ashore.to_numpy(memoryview(b"ab")).flags.writeable
    with pytest.raises(BufferError):  # C2: the array keeps its memory where it is
        held = ashore.to_numpy(numbers)
        numbers.append(3)
    del held


def test_e1_ctypes_records_come_in_without_a_warning() -> None:
    for kind in (Point, Packed, Either):
        many = (kind * 3)()
        for x, shape in ((kind(), ()), (many, (3,)), (((kind * 3) * 2)(), (2, 3))):
            out = ashore.to_numpy(x)
            assert is_plain_array(out) and out.shape == shape
            assert out.dtype == np.dtype(kind) and address(out) == ctypes.addressof(x)
        refuses(TypeError, lambda many=many: ashore.to_numpy(memoryview(many)[1:]), "ctypes")
        refuses(TypeError, lambda many=many: ashore.to_torch(many), "dtype")
    records = (Point * 3)()
    records[1].x = 7
    assert ashore.to_numpy(records)["x"].tolist() == [0, 7, 0]
    refuses(TypeError, lambda: ashore.to_numpy(Bits()))


def test_n8_buffers_that_are_no_arrays() -> None:
    for x in (
        (ctypes.c_char_p * 2)(),
        ctypes.c_void_p(),
        ctypes.pointer(ctypes.c_int(3)),
        memoryview(bytearray(8)).cast("P"),
        (ctypes.py_object * 2)(),
    ):
        refuses((TypeError, ValueError), lambda x=x: ashore.to_numpy(x))
    for x in (b"ab", "ab", b""):
        refuses(TypeError, lambda x=x: ashore.to_numpy(x), type(x).__name__)
    released = memoryview(bytearray(3))
    released.release()
    refuses(ValueError, lambda: ashore.to_numpy(released))


def test_t3_memory_maps(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(6, dtype=np.float32).tobytes())
    for mode, writable in (("r", False), ("r+", True), ("c", True)):
        mapped: Any = np.memmap(path, np.float32, mode)  # type: ignore[call-overload]
        out = ashore.to_numpy(mapped)
        assert is_plain_array(out) and out.flags.writeable == writable
        assert address(out) == address(mapped)
        tensor = ashore.to_torch(mapped)
        assert (tensor.data_ptr() == address(mapped)) == writable
        if not writable:
            refuses(
                ValueError, lambda m=mapped: ashore.to_torch(m, copy=False), "copy", "read-only"
            )
        del mapped
        assert out.sum() == 15
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as raw:
        view = ashore.to_numpy(raw)
        view[0] = 1
        assert raw[0] == 1
        del view
