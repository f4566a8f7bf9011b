"""Contract N1 to N4, N11, D1, D2: what comes out of a tensor of any kind."""

from __future__ import annotations

from typing import Any

import ashore
import ml_dtypes
import numpy as np
import pytest
import torch
from checks import address, assert_same, bits, is_plain_array, refuses
from layouts import TORCH, dtype_of, numbers


class Mine(torch.Tensor):
    """A subclass with memory that answers for itself, wrongly."""

    def data_ptr(self) -> int:
        return 0x1000

    @property
    def shape(self) -> Any:  # type: ignore[override]
        return torch.Size([10**9])

    def untyped_storage(self) -> Any:
        return None

    def numpy(self, **_: Any) -> Any:
        return "wrong"


class Loud(torch.Tensor):
    """A subclass that lets nobody call anything."""

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        raise RuntimeError("do not touch")


class Dispatched(torch.Tensor):
    """A subclass with memory whose operations are all its own."""

    @staticmethod
    def __new__(cls, data: torch.Tensor) -> Any:
        return torch.Tensor._make_subclass(cls, data)

    @classmethod
    def __torch_dispatch__(cls, *_: Any, **__: Any) -> Any:
        raise RuntimeError("do not touch")


@pytest.mark.parametrize("name", TORCH)
def test_d1_d2_same_name_same_bits_shared(name: str) -> None:
    array = numbers((2, 3), name)
    tensor = ashore.to_torch(array)
    assert tensor.dtype == getattr(torch, name) and tensor.data_ptr() == address(array)
    back = ashore.to_numpy(tensor, copy=False)
    assert_same(back, array)
    assert back.dtype == dtype_of(name) and address(back) == address(array)
    fresh = torch.zeros(4, dtype=getattr(torch, name))
    for _ in range(3):  # fresh, then locked
        got = ashore.to_numpy(fresh)
        assert got.dtype == dtype_of(name) and address(got) == fresh.data_ptr()
        assert address(ashore.to_numpy(fresh, copy=True)) != fresh.data_ptr()


def test_d2_every_pattern_of_the_small_floats_survives() -> None:
    wide = np.arange(1 << 16, dtype=np.uint16)
    for name in ("bfloat16", "float16"):
        tensor = torch.from_numpy(wide.view(np.int16)).view(getattr(torch, name))
        for x in (ashore.to_numpy(tensor), ashore.to_numpy(tensor, copy=True)):
            assert bits(x) == bits(wide) and x.dtype == dtype_of(name)
            assert bits(ashore.to_numpy(ashore.to_torch(x, copy=True))) == bits(wide)
        assert_same_floats(ashore.to_numpy(tensor, dtype="float32"), tensor.float().numpy())
    narrow = np.arange(256, dtype=np.uint8)
    for name in [n for n in TORCH if n.startswith("float8")]:
        tensor = torch.from_numpy(narrow).view(getattr(torch, name))
        got = ashore.to_numpy(tensor)
        assert got.dtype == getattr(ml_dtypes, name) and bits(got) == bits(narrow)
        assert_same_floats(ashore.to_numpy(tensor, dtype="float64"), tensor.double().numpy())


def assert_same_floats(got: np.ndarray, want: np.ndarray) -> None:
    nan = np.isnan(want)
    assert (np.isnan(got) == nan).all()
    assert_same(got[~nan], want[~nan])


def test_n1_shapes_stay_exact() -> None:
    for shape in ((), (0,), (0, 3), (2, 0, 4), (1,) * 64, (1,) * 63 + (2,)):
        for dtype in (torch.float32, torch.bfloat16, torch.bool):
            for x in (torch.ones(shape, dtype=dtype), np.ones(shape, np.float32)):
                for copy in (None, True):
                    out = ashore.to_numpy(x, copy=copy)
                    assert is_plain_array(out) and out.shape == shape
                    assert tuple(ashore.to_torch(out, copy=copy).shape) == shape
    base = torch.arange(24.0).reshape(2, 3, 4)
    for view in (base.t() if base.ndim == 2 else base.permute(2, 0, 1), base[:, 1:, ::2], base[1]):
        out = ashore.to_numpy(view)
        assert address(out) == view.data_ptr()
        assert out.strides == tuple(4 * s for s in view.stride())
        assert out.tolist() == view.tolist()
    assert ashore.to_numpy(torch.zeros(3, 2)[:, :0]).shape == (3, 0)


def test_n2_gradients_are_detached() -> None:
    leaf = torch.ones(3, requires_grad=True)
    graph = leaf * 2
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for x in (leaf, graph, torch.nn.Parameter(torch.ones(2)), leaf.to(dtype), graph.to(dtype)):
            for copy in (None, False):
                assert address(ashore.to_numpy(x, copy=copy)) == x.data_ptr()
            own = ashore.to_numpy(x, copy=True)
            assert address(own) != x.data_ptr()
            assert x.requires_grad
    graph.sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [2, 2, 2]


def test_n2_conj_and_neg_bits_are_resolved() -> None:
    for dtype in (torch.complex64, torch.complex128):
        base = torch.tensor([1 + 2j, -3 - 4j], dtype=dtype)
        for x in (
            base.conj(),
            base.conj().imag,
            base.conj().real,
            base.conj().conj(),
            base[None].mH,
        ):
            want = x.clone().resolve_conj().resolve_neg().numpy()
            assert_same(ashore.to_numpy(x), want)
            assert_same(ashore.to_numpy(x, copy=True), want)
            assert_same(ashore.to_numpy(x, dtype="complex128"), want.astype("complex128"))
            out = np.empty_like(want)
            assert_same(ashore.to_numpy(x, out=out), want)
            lazy = x.is_conj() or x.is_neg()
            if lazy:
                refuses(ValueError, lambda x=x: ashore.to_numpy(x, copy=False), "copy", "bit")
            else:
                assert address(ashore.to_numpy(x, copy=False)) == x.data_ptr()
            assert (x.is_conj() or x.is_neg()) == lazy
    assert base.conj().imag.is_neg()


def test_n2_neg_bits_on_every_dtype() -> None:
    for name in ("float16", "bfloat16", "float32", "float64"):
        x = torch._neg_view(torch.tensor([1.5, -2.0, 0.0], dtype=getattr(torch, name)))
        assert x.is_neg()
        want = np.array([-1.5, 2.0, -0.0]).astype(dtype_of(name))
        assert_same(ashore.to_numpy(x), want)
        assert_same(ashore.to_numpy(x, dtype="float64"), want.astype("float64"))
    for name in ("int8", "int64", "uint8"):
        x = torch._neg_view(torch.tensor([1, 0, 3], dtype=getattr(torch, name)))
        assert_same(ashore.to_numpy(x), np.negative(np.array([1, 0, 3], name)))


def test_n2_subclasses_with_memory_convert() -> None:
    for kind in (Mine, Loud):
        for dtype in (torch.float32, torch.bfloat16, torch.float8_e5m2):
            plain = torch.tensor([1.0, 2.0, 4.0]).to(dtype)
            x = plain.as_subclass(kind)
            out = ashore.to_numpy(x, copy=False)
            assert_same(out, ashore.to_numpy(plain))
            assert address(out) == plain.data_ptr() and not plain.untyped_storage().resizable()
            assert_same(ashore.to_numpy(x, copy=True), out)
            assert ashore.to_numpy(x, dtype="float64").tolist() == [1, 2, 4]
            assert type(x) is kind
    x = Dispatched(torch.ones(3))
    assert ashore.to_numpy(x).tolist() == [1, 1, 1]
    assert ashore.to_numpy(torch.nn.Buffer(torch.ones(2))).tolist() == [1, 1]
    assert ashore.plan(torch.ones(2).as_subclass(Loud)).entries[0].action == "share"


def test_n3_expanded_tensors_are_read_only() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        column = torch.arange(3).to(dtype)[:, None]
        for x in (column.expand(3, 4), column[0].expand(5), column.expand(3, 4)[1:], column.mT):
            overlaps = any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape, strict=True))
            for _ in range(2):
                for copy in (None, False):
                    out = ashore.to_numpy(x, copy=copy)
                    assert out.flags.writeable is not overlaps
                    assert out.strides == tuple(s * x.element_size() for s in x.stride())
            own = ashore.to_numpy(x, copy=True)
            assert own.flags.writeable and own.shape == tuple(x.shape)
            assert not np.shares_memory(own, out)
            own[...] = 1
    one = torch.ones(1, 3).expand(1, 3).as_strided((1, 3), (0, 1))
    assert ashore.to_numpy(one).flags.writeable  # stride 0 on an axis of length 1
    windows = torch.arange(6.0).as_strided((4, 3), (1, 1))
    assert not ashore.to_numpy(windows).flags.writeable
    assert ashore.to_numpy(torch.ones(0).expand(4, 0)).flags.writeable


def test_n4_the_frameworks_copy_is_named() -> None:
    class Cupy:
        """What a CuPy array looks like."""

        __module__ = "cupy"
        __cuda_array_interface__ = {  # noqa: RUF012
            "shape": (2,),
            "typestr": "<f4",
            "data": (0x1000, False),
            "version": 3,
        }
        asked = 0

        def get(self) -> np.ndarray:
            self.asked += 1
            return np.array([1.0, 2.0], np.float32)

    Cupy.__module__ = "cupy"
    x = Cupy()
    entry = ashore.plan(x).entries[0]
    assert entry.action == "framework" and "device" in entry.why
    x = Cupy()
    assert ashore.to_numpy(x).tolist() == [1, 2] and x.asked == 1
    assert ashore.to_torch(Cupy()).tolist() == [1, 2]
    assert ashore.to_numpy([Cupy()], dtype="int8")[0].tolist() == [1, 2]
    refuses(ValueError, lambda: ashore.to_numpy(x, copy=False), "copy", "CUDA")
    assert x.asked == 1


def test_n11_zero_tensors_without_storage_give_zeros() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.complex64, torch.int64):
        x = torch._efficientzerotensor((2, 3), dtype=dtype)
        assert x._is_zerotensor()
        out = ashore.to_numpy(x)
        assert out.shape == (2, 3) and out.flags.writeable and out.flags.owndata
        assert bits(out) == bytes(out.nbytes)
        assert_same(ashore.to_numpy(x, copy=True), out)
        refuses(ValueError, lambda x=x: ashore.to_numpy(x, copy=False), "copy")
        assert ashore.to_numpy(x, dtype="complex128").tolist() == [[0, 0, 0]] * 2
        assert not ashore.to_torch(x, copy=True)._is_zerotensor()
        filled = np.ones((2, 3), out.dtype)
        assert bits(ashore.to_numpy(x, out=filled)) == bytes(out.nbytes)
