"""Contract E1, E2, N10: what has no form on the other side, and what the message says."""

from __future__ import annotations

import gc
import sys
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import ashore
import numpy as np
import pytest
import torch
import torch.masked
from checks import refuses
from layouts import WithArray
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.two_tensor import TwoTensor


class Wrapper(torch.Tensor):
    """A subclass that stands for something else and has no memory of its own."""

    @staticmethod
    def __new__(cls, *shape: int) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, shape)

    @classmethod
    def __torch_dispatch__(cls, *_: Any, **__: Any) -> Any:
        raise RuntimeError("a wrapper's own code ran")


def quiet(make: Callable[[], torch.Tensor]) -> torch.Tensor:
    """Make a tensor of a kind that PyTorch itself warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def freed() -> torch.Tensor:
    tensor = torch.ones(3)
    tensor.untyped_storage().resize_(0)
    return tensor


def outgrown() -> torch.Tensor:
    """A refused resize_ changes the shape first and leaves the elements outside the storage."""
    tensor = torch.ones(3)
    tensor.numpy()
    with pytest.raises(RuntimeError):
        tensor.resize_(10**9)
    return tensor


def fake(*shape: int) -> torch.Tensor:
    with FakeTensorMode():
        return torch.ones(shape)


ROWS = [torch.ones(2), torch.ones(3)]
TENSORS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "sparse_coo": (lambda: torch.eye(3).to_sparse(), ["to_dense", "sparse_coo"]),
    "sparse_csr": (lambda: quiet(lambda: torch.eye(4).to_sparse_csr()), ["to_dense"]),
    "sparse_csc": (lambda: quiet(lambda: torch.eye(4).to_sparse_csc()), ["to_dense"]),
    "sparse_bsr": (lambda: quiet(lambda: torch.eye(4).to_sparse_bsr((2, 2))), ["to_dense"]),
    "sparse_bsc": (lambda: quiet(lambda: torch.eye(4).to_sparse_bsc((2, 2))), ["to_dense"]),
    "sparse parameter": (lambda: torch.nn.Parameter(torch.eye(3).to_sparse()), ["to_dense"]),
    "onednn": (lambda: torch.ones(3).to_mkldnn(), ["to_dense"]),
    "quantized": (
        lambda: quiet(lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)),
        ["dequantize"],
    ),
    "quantized by channel": (
        lambda: quiet(
            lambda: torch.quantize_per_channel(
                torch.ones(3, 2), torch.ones(3), torch.zeros(3), 0, torch.quint8
            )
        ),
        ["dequantize"],
    ),
    "nested": (lambda: quiet(lambda: torch.nested.nested_tensor(ROWS)), ["unbind"]),
    "jagged": (lambda: torch.nested.nested_tensor(ROWS, layout=torch.jagged), ["to_padded_tensor"]),
    "masked tensor": (
        lambda: quiet(
            lambda: torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False]))
        ),
        ["MaskedTensor"],
    ),
    "meta": (lambda: torch.ones(3, device="meta"), ["meta"]),
    "empty meta": (lambda: torch.ones(0, device="meta"), ["meta"]),
    "fake": (lambda: fake(3), ["FakeTensor"]),
    "empty fake": (lambda: fake(0), ["FakeTensor"]),
    "two": (lambda: TwoTensor(torch.ones(3), torch.ones(3)), ["TwoTensor"]),
    "empty two": (lambda: TwoTensor(torch.ones(0), torch.ones(0)), ["TwoTensor"]),
    "wrapper": (lambda: Wrapper(3), ["Wrapper"]),
    "uninitialized": (lambda: torch.nn.LazyLinear(3).weight, ["UninitializedParameter"]),
    "freed storage": (freed, ["memory"]),
    "outgrown storage": (outgrown, ["memory"]),
    "complex32": (
        lambda: torch.ones(2, dtype=torch.int32).view(torch.complex32),
        ["complex64", "complex32"],
    ),
    **{
        name: (
            lambda name=name: torch.zeros(4, dtype=torch.uint8).view(getattr(torch, name)),
            [name],
        )
        for name in "bits8 bits16 bits1x8 bits4x2 float4_e2m1fn_x2".split()
        + [f"{sign}int{n}" for sign in ("", "u") for n in range(1, 8)]
    },
}


@pytest.mark.parametrize("kind", list(TENSORS))
def test_n10_tensors_without_an_array_form(kind: str) -> None:
    make, words = TENSORS[kind]
    x = make()
    for options in ({}, {"copy": True}, {"copy": False}, {"order": "C"}, {"out": np.zeros(3)}):
        text = refuses(TypeError, lambda o=options: ashore.to_numpy(x, **o), *words)
        assert ".cpu()" not in text
    if kind != "complex32":
        refuses(TypeError, lambda: ashore.to_numpy(x, dtype="float32"), *words)
        refuses(TypeError, lambda: ashore.to_torch(x, dtype="complex128"), *words)
    for convert in (ashore.plan, ashore.tensors_to_numpy):
        refuses(TypeError, lambda convert=convert: convert(x), *words)
    refuses(TypeError, lambda: ashore.to_numpy({"x": [x]}), *words)
    if kind != "complex32":
        refuses(TypeError, lambda: ashore.to_image(x), *words)


@pytest.mark.parametrize(
    ("word", "transform"),
    [
        ("vmap", lambda f: torch.func.vmap(f)(torch.ones(2, 3))),
        ("grad", lambda f: torch.func.grad(f)(torch.ones(3))),
        ("grad", lambda f: torch.func.vmap(torch.func.grad(f))(torch.ones(2, 3))),
        ("functionalize", lambda f: torch.func.functionalize(f)(torch.ones(3))),
        ("grad", lambda f: torch.func.jvp(f, (torch.ones(3),), (torch.ones(3),))),
        ("grad", lambda f: torch.func.hessian(f)(torch.ones(3))),
    ],
)
def test_n10_inside_function_transforms(word: str, transform: Callable[..., Any]) -> None:
    seen = []

    def convert(x: torch.Tensor) -> torch.Tensor:
        for y in (x, x * 2, x.sum()):
            for call in (ashore.to_numpy, ashore.plan, ashore.to_image):
                seen.append(refuses(TypeError, lambda y=y, call=call: call(y), word))
        return (x * 2).sum()

    quiet(lambda: transform(convert))
    assert seen and not any(".cpu()" in text for text in seen)


def test_n10_complex32_asked_for_as_something_wider() -> None:
    halves = torch.tensor([1.0, 2.0, -0.5, 4.0], dtype=torch.float16)
    x = torch.view_as_complex(halves.view(2, 2))
    for dtype in (np.complex64, "complex128", np.clongdouble):
        out = ashore.to_numpy(x, dtype=dtype)
        assert out.dtype == dtype and out.tolist() == [1 + 2j, -0.5 + 4j]
    refuses(ValueError, lambda: ashore.to_numpy(x, dtype="complex64", copy=False), "copy")
    for dtype in ("complex32", "bcomplex32"):
        refuses(TypeError, lambda dtype=dtype: ashore.to_numpy(x, dtype=dtype), "complex64")
    refuses(TypeError, lambda: ashore.to_numpy(x, dtype="float32"), "imaginary")
    assert (
        ashore.to_numpy(ashore.to_torch([1 + 2j], dtype="complex32"), dtype="complex64") == 1 + 2j
    )


def test_n10_masked_arrays_both_ways() -> None:
    for x in (np.ma.array([1.0, 2.0], mask=[True, False]), np.ma.array([1.0]), np.ma.masked):
        for convert in (ashore.to_numpy, ashore.to_torch, ashore.plan, ashore.to_image):
            refuses(TypeError, lambda x=x, convert=convert: convert(x), "filled", "mask")
    refuses(TypeError, lambda: ashore.to_numpy([np.ma.array([1])]), "filled")


def test_n10_object_dtype_both_ways() -> None:
    record = np.zeros(2, dtype=[("a", "f4"), ("b", "O")])
    for x in (np.array([1, 2], object), np.array([None]), np.array(3, object), record, record[0]):
        for convert in (ashore.to_numpy, ashore.to_torch, ashore.plan):
            refuses(TypeError, lambda x=x, convert=convert: convert(x), "object", "dtype")
    refuses(TypeError, lambda: ashore.to_numpy([np.array([1, 2], object)]), "object", "dtype")
    refuses(TypeError, lambda: ashore.to_numpy(torch.ones(2), dtype=object), "object", "dtype")


def test_n10_no_array_at_all() -> None:
    for x in (
        "text",
        None,
        b"bytes",
        iter([1]),
        (i for i in [1]),
        range(3),
        {1, 2},
        frozenset([1]),
        object(),
        ...,
        int,
        np.float32,
        np.dtype("f4"),
        torch.float32,
        torch.device("cpu"),
        torch.nn.Linear(1, 1),
        torch.ones(2).untyped_storage(),
        types,
        len,
        slice(2),
        {"a": 1}.values(),
        WithArray,
    ):
        name = type(x).__name__
        for convert in (ashore.to_numpy, ashore.to_torch, ashore.plan, ashore.to_image):
            refuses(TypeError, lambda x=x, convert=convert: convert(x), name)


def test_e1_messages_are_one_line_whatever_a_name_holds() -> None:
    for name in ("a\nb", "a\r\nb", "a\x0bb\x0c", "a\x85b", "a\u2028b\u2029", "a\tb"):
        kind = type("K", (), {"__module__": "m\nn", "__qualname__": name})
        refuses(TypeError, lambda kind=kind: ashore.to_numpy(kind()))
        stuck = type("D", (dict,), {"__qualname__": name, "__copy__": lambda self: self})
        refuses(TypeError, lambda stuck=stuck: ashore.to_numpy(stuck(x=np.ones(1))))
        refuses(ValueError, lambda name=name: ashore.to_numpy(np.ones(1), order=name))
        refuses(ValueError, lambda name=name: ashore.to_numpy(np.ones(1), copy=name))
        refuses(TypeError, lambda name=name: ashore.to_numpy(np.ones(1), dtype=name))
        refuses(TypeError, lambda name=name: ashore.to_numpy(np.ones(1), **{name: 1}))
        refuses(TypeError, lambda name=name: ashore.to_torch(np.ones(1), dtype=name))
        refuses(ValueError, lambda name=name: ashore.to_torch(np.ones(1), device=name))
        refuses(ValueError, lambda name=name: ashore.to_image(np.ones((2, 2)), layout=name))
        refuses(ValueError, lambda name=name: ashore.to_image(np.ones((2, 2)), channels=name))
    surrogate = type("S", (), {"__qualname__": "\ud800"})
    refuses(TypeError, lambda: ashore.to_numpy(surrogate()))
    refuses(TypeError, lambda: ashore.to_numpy(np.ones(1), dtype="\ud800"))


def test_e2_arguments() -> None:
    x = np.ones(2)
    for call, words in (
        (lambda: ashore.to_numpy(), ["to_numpy"]),
        (lambda: ashore.to_numpy(x, x), ["positional"]),
        (lambda: ashore.to_numpy(x, device="cpu"), ["device"]),
        (lambda: ashore.to_torch(x, order="C"), ["order"]),
        (lambda: ashore.tensors_to_numpy(x, order="C"), ["order"]),
        (lambda: ashore.to_numpy(x=x), ["x"]),
        (lambda: ashore.to_numpy(x, out=[1.0, 2.0]), ["out"]),
        (lambda: ashore.to_numpy(x, dtype="float128x"), ["float128x"]),
        (lambda: ashore.to_numpy(x, dtype="a5"), ["a5"]),
        (lambda: ashore.to_numpy(x, dtype="M8[s]"), ["datetime64"]),
        (lambda: ashore.to_torch(x, dtype="int4"), ["int4"]),
        (lambda: ashore.to_torch(x, dtype=np.float32), ["dtype"]),
        (lambda: ashore.to_torch(x, dtype="nn"), ["nn"]),
        (lambda: ashore.to_torch(x, dtype="nosuch"), ["nosuch"]),
        (lambda: ashore.tensors_to_numpy(x, [x]), ["argument 2"]),
    ):
        refuses(TypeError, call, *words)
    for call, words in (
        (lambda: ashore.to_numpy(x, copy="yes"), ["copy"]),
        (lambda: ashore.to_numpy(x, copy=1), ["copy"]),
        (lambda: ashore.to_numpy(x, order="F"), ["order"]),
        (lambda: ashore.to_numpy(x, order=None), ["order"]),
        (lambda: ashore.to_torch(x, device="gpu"), ["gpu"]),
        (lambda: ashore.to_torch(x, device=0), ["device"]),
    ):
        refuses(ValueError, call, *words)


def test_e1_refusals_leave_no_reference_behind() -> None:
    class Watched:
        pass

    class Item(Watched):
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise TypeError("mine")

    array = np.ma.array([1.0])
    tensor = torch.eye(2).to_sparse()
    plain = torch.ones(3)
    gc.collect()
    counts = [sys.getrefcount(x) for x in (array, tensor, plain, None)]
    for _ in range(1000):
        item = Item()
        item.note = np.ones(3)  # type: ignore[attr-defined]
        for x in (item, [item], {"k": (item,)}, array, [array], tensor, [plain, tensor]):
            with pytest.raises(TypeError):
                ashore.to_numpy(x)
            with pytest.raises(TypeError):
                ashore.to_torch(x, dtype="float64")
        with pytest.raises(ValueError):
            ashore.to_numpy(plain, dtype="float64", copy=False)
    watch = weakref.ref(item)
    del item, x
    gc.collect()
    assert watch() is None
    after = [sys.getrefcount(x) for x in (array, tensor, plain, None)]
    # The collector may free what earlier tests left, so None may lose references, but gain none.
    assert after[:3] == counts[:3] and after[3] - counts[3] < 500
