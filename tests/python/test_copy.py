"""Contract C1, C2, C3, C5, C6, N5: who owns the memory, and who sees whose writes."""

from __future__ import annotations

from typing import Any

import ashore
import ml_dtypes
import numpy as np
import pytest
import torch
from checks import address, assert_same, is_plain_array, refuses


def test_c1_none_shares_true_copies_false_shares_or_raises() -> None:
    for x in (torch.zeros(3), torch.zeros(3).bfloat16(), np.zeros(3), np.zeros(3, ">f4")):
        start = x.data_ptr() if isinstance(x, torch.Tensor) else address(x)
        assert address(ashore.to_numpy(x)) == address(ashore.to_numpy(x, copy=False)) == start
        own = ashore.to_numpy(x, copy=True)
        assert address(own) != start and own.flags.writeable
    t = torch.zeros(3)
    n, own, wide = ashore.to_numpy(t), ashore.to_numpy(t, copy=True), ashore.to_numpy(t, dtype="d")
    t += 1
    assert n.tolist() == [1, 1, 1] and own.tolist() == wide.tolist() == [0, 0, 0]
    n[0] = 9
    assert t.tolist() == [9, 1, 1]
    refuses(ValueError, lambda: ashore.to_numpy(t, dtype="d", copy=False), "copy", "float64")
    for flag in (np.True_, np.False_):
        assert (address(ashore.to_numpy(t, copy=flag)) == t.data_ptr()) is not bool(flag)


def test_c1_a_copy_is_writable_whatever_the_source() -> None:
    locked = np.zeros(3)
    locked.flags.writeable = False
    for x in (locked, np.broadcast_to(np.zeros(1), (3,)), torch.zeros(1).expand(3), bytearray(3)):
        own = ashore.to_numpy(x, copy=True)
        own += 1
        assert own.tolist() == [1, 1, 1] and own.flags.c_contiguous


def test_c2_the_source_is_never_modified() -> None:
    leaf = torch.ones(3, requires_grad=True)
    leaf.sum().backward()
    graph = leaf * 2
    lazy = torch.ones(2, dtype=torch.complex64).conj()
    locked = np.zeros(3)
    locked.flags.writeable = False
    with torch.inference_mode():
        frozen = torch.ones(3)
    sources: list[Any] = [leaf, graph, lazy, frozen, torch.nn.Parameter(torch.ones(2)), locked]

    def state(x: Any) -> list[Any]:
        if isinstance(x, np.ndarray):
            return [type(x), x.flags.writeable, x.dtype, x.strides, x.tolist()]
        facts = [x.requires_grad, x.is_leaf, x.grad_fn, x.is_conj(), x.is_inference()]
        version = None if x.is_inference() else x._version
        grad = id(x.grad) if x.is_leaf else None
        return [type(x), *facts, version, x.data_ptr(), x.stride(), grad]

    before = [state(x) for x in sources]
    for options in ({}, {"copy": True}, {"dtype": "complex128"}, {"order": "C"}):
        for x in sources:
            ashore.to_numpy(x, **options)
    for options in ({}, {"copy": True}, {"dtype": "complex128"}, {"requires_grad": True}):
        for x in sources:
            ashore.to_torch(x, **options)
    assert [state(x) for x in sources] == before
    assert leaf.grad is not None and leaf.grad.tolist() == [1, 1, 1]


def test_c2_the_one_mark_is_that_of_tensor_numpy() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        t = torch.zeros(4, dtype=dtype)
        ashore.to_numpy(t, copy=True)
        ashore.to_numpy(t, dtype="float64")
        ashore.plan(t)
        assert t.untyped_storage().resizable()
        ashore.to_numpy(t)
        assert not t.untyped_storage().resizable()
        with pytest.raises(RuntimeError):
            t.resize_(100)


def test_c3_the_dtype_it_has_changes_nothing() -> None:
    a = np.zeros(3, np.int64)
    longlong = a.view(np.longlong)
    for x, dtype in ((a, np.longlong), (longlong, "int64"), (a, "<i8"), (a, int), (a, a.dtype)):
        assert ashore.to_numpy(x, dtype=dtype, copy=False) is x
    t = torch.zeros(3)
    for given in (np.float32, "float32", "f4", "<f4", np.dtype("f4")):
        assert address(ashore.to_numpy(t, dtype=given, copy=False)) == t.data_ptr()
    for name in ("bfloat16", "float8_e5m2"):
        small = t.to(getattr(torch, name))
        for given in (name, getattr(ml_dtypes, name), np.dtype(getattr(ml_dtypes, name))):
            assert address(ashore.to_numpy(small, dtype=given, copy=False)) == small.data_ptr()
    for given in (torch.float64, "float64", "double", "torch.float64"):
        assert ashore.to_torch(t, dtype=given).dtype == torch.float64
    x = ashore.to_numpy({"a": t, "b": [t, "text", 3]}, dtype="float16")
    assert x["a"].dtype == x["b"][0].dtype == np.float16 and x["b"][1:] == ["text", 3]
    arrays = ashore.tensors_to_numpy(t, t.double(), dtype="int8")
    assert type(arrays) is tuple and [a.dtype for a in arrays] == [np.int8, np.int8]


def test_c3_byte_order_of_ml_dtypes_counts() -> None:
    values = np.array([1, 2, 0.5]).astype(ml_dtypes.bfloat16)
    big = values.dtype.newbyteorder(">")
    swapped = values.byteswap().view(big)
    assert ashore.to_numpy(swapped) is swapped
    assert ashore.to_numpy(swapped, dtype="float32").tolist() == [1, 2, 0.5]
    assert_same(ashore.to_numpy(swapped, dtype="bfloat16"), values)
    assert ashore.to_torch(swapped).tolist() == [1, 2, 0.5]
    refuses(ValueError, lambda: ashore.to_torch(swapped, copy=False), "byte order")
    assert ashore.to_numpy(values, dtype=big).tobytes() == swapped.tobytes()


def test_c5_order() -> None:
    t = torch.arange(6.0).reshape(2, 3)
    assert ashore.to_numpy(t.t(), copy=True).strides == (4, 12)
    assert ashore.to_numpy(t.t(), dtype="d").strides == (8, 24)
    assert ashore.to_numpy(t.t(), order="C").strides == (8, 4)
    assert ashore.to_numpy(t.t(), order="K", copy=False).strides == (4, 12)
    assert address(ashore.to_numpy(t, order="C", copy=False)) == t.data_ptr()
    refuses(ValueError, lambda: ashore.to_numpy(t.t(), order="C", copy=False), "copy", "order")
    channels_last = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert ashore.to_numpy(channels_last, copy=True).strides == (240, 4, 60, 12)
    assert ashore.to_torch(np.asfortranarray(np.ones((2, 3))), copy=True).stride() == (1, 2)


def test_c6_out_is_filled_and_returned() -> None:
    t = torch.arange(6.0).reshape(2, 3)
    for out in (
        np.empty((2, 3)),
        np.empty((2, 3), ">i2"),
        np.empty((3, 2), np.float16).T,
        np.empty((2, 6), ml_dtypes.bfloat16)[:, ::-2],
        np.zeros((2, 3), "f4,f4")["f1"],
        np.empty((2, 3), bool),
        np.empty((2, 3)).view(np.matrix),
    ):
        for x in (t, t.numpy(), t.tolist()):
            assert ashore.to_numpy(x, out=out) is out
            assert out.tolist() == t.numpy().astype(out.dtype).tolist()
    assert ashore.to_numpy(3, out=(zero := np.empty(()))) is zero and zero == 3
    assert ashore.to_numpy(t, out=np.empty((2, 3)), copy=True).sum() == 15
    words = np.array(["a", "b"])
    assert ashore.to_numpy(words, out=(room := np.empty(2, "<U1"))) is room
    assert room.tolist() == ["a", "b"]


def test_c6_overlap_is_as_if_copied_first() -> None:
    for size in (8, 100_000):
        for back, shift in ((1, 1), (1, 3), (-1, 0), (2, 0)):
            base = np.arange(size, dtype=np.int32)
            source, room = base[::back], base
            count = min(source.size, room.size - shift)
            source, room = source[:count], room[shift:][:count]
            want = source.copy()
            assert ashore.to_numpy(source, out=room) is room
            assert room.tolist() == want.tolist()
    t = torch.arange(6.0).reshape(2, 3)
    ashore.to_numpy(t[0], out=t.numpy()[1])
    assert t.tolist() == [[0, 1, 2], [0, 1, 2]]
    bytes_ = np.arange(16, dtype=np.uint8)
    room = bytes_[:8].view(np.float32)
    want = bytes_[1:3].astype(np.float32)
    assert_same(ashore.to_numpy(bytes_[1:3], out=room), want)


def test_c6_what_out_refuses() -> None:
    t = torch.ones(2, 3)
    locked = np.empty((2, 3))
    locked.flags.writeable = False
    for options, words in (
        ({"out": locked}, ["read-only"]),
        ({"out": np.empty((3, 2))}, ["(3, 2)", "(2, 3)"]),
        ({"out": np.empty(6)}, ["(6,)"]),
        ({"out": np.empty(())}, ["()"]),
        ({"out": np.empty((2, 3)), "copy": False}, ["copy"]),
        ({"out": np.empty((2, 3)), "dtype": "f4"}, ["dtype"]),
        ({"out": np.empty((3, 2)).T, "order": "C"}, ["order"]),
    ):
        refuses(ValueError, lambda o=options: ashore.to_numpy(t, **o), *words)
    for box in ({}, [], [t], {"a": t}, (np.ones(2),)):
        refuses(ValueError, lambda b=box: ashore.to_numpy(b, out=np.empty((2, 3))), "container")
    for out in ("text", [1, 2], t, np.empty((2, 3), object), np.empty((2, 3), "U3")):
        refuses(TypeError, lambda out=out: ashore.to_numpy(t, out=out), "out")
    complex_ = torch.ones(2, dtype=torch.complex64)
    refuses(TypeError, lambda: ashore.to_numpy(complex_, out=np.empty(2)), "imaginary")


def test_n5_arrays_pass_as_they_are() -> None:
    locked = np.arange(3)
    locked.flags.writeable = False
    for x in (
        np.zeros((2, 3)),
        np.zeros(3, ">f4"),
        np.array(["a", "bc"]),
        np.array(["2020-01-01"], "M8[D]"),
        np.zeros(2, "i4,f8"),
        np.zeros(2, "V7"),
        np.array([b"x"]),
        np.array(["x"], np.dtypes.StringDType()),
        locked,
        np.zeros((3, 4))[::2, ::-1],
    ):
        assert ashore.to_numpy(x) is x and ashore.to_numpy(x, copy=False) is x
        assert ashore.to_numpy(x, dtype=x.dtype) is x
        own = ashore.to_numpy(x, copy=True)
        assert own is not x and own.dtype == x.dtype and own.tolist() == x.tolist()
        assert own.flags.writeable
    wide = np.broadcast_to(np.arange(3), (2, 3))
    assert ashore.to_numpy(wide) is wide and not wide.flags.writeable

    class Sub(np.ndarray):
        pass

    for kind in (Sub, np.matrix, np.recarray):
        x = np.arange(4.0).reshape(2, 2).view(kind)
        out = ashore.to_numpy(x)
        assert is_plain_array(out) and address(out) == address(x)
    words = np.array(["a"])
    for dtype in ("f4", "U9", "M8[s]"):
        refuses(TypeError, lambda dtype=dtype: ashore.to_numpy(words, dtype=dtype), "<U1")
