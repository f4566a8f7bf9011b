"""Contract T1 to T4: arrays, tensors and numbers on their way to PyTorch."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import ashore
import ml_dtypes
import numpy as np
import torch
from checks import address, refuses
from layouts import WithArray


def test_t1_a_tensor_that_needs_no_change_is_returned() -> None:
    class Mine(torch.Tensor):
        pass

    leaf = torch.ones(3, requires_grad=True)
    for x in (
        torch.ones(3),
        leaf,
        leaf * 2,
        torch.nn.Parameter(torch.ones(2)),
        torch.ones(2, dtype=torch.complex64).conj(),
        torch.ones(3).as_subclass(Mine),
        torch.eye(3).to_sparse(),
        torch.ones(3, device="meta"),
        torch.ones(1).expand(3),
    ):
        for options in ({}, {"copy": False}, {"dtype": x.dtype}):
            assert ashore.to_torch(x, **options) is x
        if not x.is_meta:
            assert ashore.to_torch(x, device=x.device) is x
    assert ashore.to_torch(torch.ones(3), device="cpu", copy=False).tolist() == [1, 1, 1]


def test_t1_the_result_requires_grad_only_when_asked() -> None:
    leaf = torch.ones(3, requires_grad=True)
    for x in (np.ones(3), leaf, leaf * 2):
        assert not ashore.to_torch(x, dtype="float16").requires_grad
        assert not ashore.to_torch(x, copy=True).requires_grad
    assert not ashore.to_torch(np.ones(3)).requires_grad


def test_t1_what_has_no_torch_dtype() -> None:
    for x in (
        np.array(["a"]),
        np.str_("a"),
        np.array([b"a"]),
        np.array(["2020"], "M8[s]"),
        np.timedelta64(3, "s"),
        np.zeros(2, "f4,f4"),
        np.zeros(3, "V2"),
        np.zeros(3, "V1"),
        np.array(["a"], np.dtypes.StringDType()),
        np.ones(2, np.longdouble),
        np.clongdouble(1),
        np.ones(2, ml_dtypes.int4),
        np.ones(2, ml_dtypes.float8_e3m4),
        np.ones(2, ml_dtypes.float4_e2m1fn),
    ):
        for box in (x, {"x": [x]} if isinstance(x, np.ndarray) else x):
            refuses(TypeError, lambda box=box: ashore.to_torch(box), "dtype")
    for x in (np.ones(2, ml_dtypes.int4), np.ones(2, ml_dtypes.float8_e3m4)):
        assert ashore.to_torch(x, dtype="float32").tolist() == [
            1,
            1,
        ]  # D1: a wider one is asked for


def test_d1_unsigned_never_becomes_signed() -> None:
    for name, value in (("uint16", 65535), ("uint32", 2**32 - 1), ("uint64", 2**64 - 1)):
        tensor = ashore.to_torch(np.array([0, value], name))
        assert tensor.dtype == getattr(torch, name) and tensor.tolist() == [0, value]
        assert ashore.to_torch(np.array([0, value], name), dtype="float64")[1] == float(value)
        assert ashore.to_numpy(tensor).tolist() == [0, value]


def test_t2_requires_grad_gives_a_leaf_on_shared_memory() -> None:
    for array in (
        np.ones(3, np.float32),
        np.ones(3),
        np.ones(2, ml_dtypes.bfloat16),
        np.ones(2, "F"),
    ):
        leaf = ashore.to_torch(array, requires_grad=True)
        assert leaf.is_leaf and leaf.requires_grad and leaf.data_ptr() == address(array)
        (leaf * 2).abs().sum().backward()
        assert leaf.grad is not None
    own = ashore.to_torch(np.ones(3), requires_grad=True, copy=True, dtype="float16")
    assert own.is_leaf and own.requires_grad and own.dtype == torch.float16
    assert ashore.to_torch([1.0, 2], requires_grad=True).requires_grad
    x = ashore.to_torch({"w": np.ones(2)}, requires_grad=True)
    assert x["w"].requires_grad


def test_t2_the_input_is_never_touched() -> None:
    plain = torch.ones(3)
    leaf = ashore.to_torch(plain, requires_grad=True)
    assert leaf is not plain and not plain.requires_grad and leaf.is_leaf
    assert leaf.data_ptr() == plain.data_ptr()
    source = torch.ones(3, requires_grad=True)
    assert ashore.to_torch(source, requires_grad=True) is source
    graph = source * 2
    cut = ashore.to_torch(graph, requires_grad=True)
    assert cut.is_leaf and cut.grad_fn is None and graph.grad_fn is not None
    with torch.inference_mode():
        frozen = torch.ones(3)
        half = torch.ones(3).bfloat16()
    for x in (frozen, half):
        leaf = ashore.to_torch(x, requires_grad=True)
        assert leaf.requires_grad and not leaf.is_inference() and x.is_inference()
        assert leaf.data_ptr() == x.data_ptr()
        (leaf * 2).sum().backward()
    parameter = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    assert ashore.to_torch(parameter, requires_grad=True) is not parameter
    assert not parameter.requires_grad


def test_t2_dtypes_without_gradients() -> None:
    for x, dtype, word in (
        (np.ones(2, np.int32), None, "int32"),
        (torch.ones(2).long(), None, "int64"),
        (np.ones(2, bool), None, "bool"),
        (3, None, "int64"),
        ([1, 2], None, "int64"),
        (torch.ones(2), "uint8", "uint8"),
        (np.ones(2), torch.int16, "int16"),
    ):
        options = {"requires_grad": True, "dtype": dtype}
        refuses(ValueError, lambda x=x, o=options: ashore.to_torch(x, **o), "requires_grad", word)
    assert ashore.to_torch(np.ones(2, np.int32), requires_grad=True, dtype="float32").requires_grad


def test_t3_read_only_sources_are_copied() -> None:
    locked = np.arange(3.0)
    locked.flags.writeable = False
    for x in (locked, memoryview(bytes(8)), np.broadcast_to(np.ones(1), (3,)), WithArray(locked)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tensor = ashore.to_torch(x)
        tensor += 1
        refuses(ValueError, lambda x=x: ashore.to_torch(x, copy=False), "copy", "read-only")
    assert locked.tolist() == [0, 1, 2]


def test_t3_layouts_that_pytorch_cannot_hold() -> None:
    packed = np.zeros(4, np.dtype([("tag", "u1"), ("x", "<f4")]))["x"]
    bytes_ = np.zeros(17, np.uint8)
    for x, word in (
        (np.arange(3.0)[::-1], "negative strides"),
        (np.arange(6.0).reshape(2, 3)[:, ::-1], "negative strides"),
        (packed, "strides"),
        (bytes_[1:].view(np.float32), "unaligned"),
        (np.arange(3, dtype=">f8"), "byte order"),
        (np.arange(3, dtype=">c8"), "byte order"),
    ):
        tensor = ashore.to_torch(x)
        assert tensor.tolist() == x.tolist() and tensor.data_ptr() != address(x)
        assert min(tensor.stride()) >= 0
        refuses(ValueError, lambda x=x: ashore.to_torch(x, copy=False), "copy", word)
        assert ashore.to_torch(x, dtype="complex128").tolist() == x.tolist()


def test_t3_strides_that_do_not_count() -> None:
    one = np.lib.stride_tricks.as_strided(np.zeros(8), (1, 3, 1), (-7, 8, 3))
    empty = np.lib.stride_tricks.as_strided(np.zeros(8), (0, 3), (-7, 8))
    for x in (one, empty, np.arange(3.0)[:1][::-1], np.zeros((0, 3))[::-1]):
        tensor = ashore.to_torch(x, copy=False)
        assert tuple(tensor.shape) == x.shape and min(tensor.stride()) >= 0
        if x.size:
            assert tensor.data_ptr() == address(x)
    swapped_byte = np.zeros(3, ">i1")
    assert ashore.to_torch(swapped_byte, copy=False).data_ptr() == address(swapped_byte)


def test_t3_copies_are_pytorchs_own_memory() -> None:
    for x in (np.arange(3, dtype=">f4"), [1.0], np.ones((2, 3))[::-1]):
        tensor = ashore.to_torch(x)
        assert tensor.untyped_storage().resizable() and tensor.is_contiguous()
        tensor.resize_(100)
    shared = ashore.to_torch(np.ones(3))
    assert shared.share_memory_().tolist() == [1, 1, 1]


def test_t4_devices() -> None:
    x = np.ones(3)
    for device in (None, "cpu", torch.device("cpu"), "cpu:0"):
        assert ashore.to_torch(x, device=device).data_ptr() == address(x)
        assert ashore.to_torch(torch.ones(2), device=device, copy=True).device.type == "cpu"
    for device in ("gpu", "cuda:x", "", "cpu:-1", "cuda:99999999999", 0, 1.5, b"cpu", object()):
        refuses(ValueError, lambda d=device: ashore.to_torch(x, device=d), "device")
    kinds = ["mps", "xpu:0", "hpu", "xla", "mtia", "ipu", "vulkan", "privateuseone", "meta"]
    if not torch.cuda.is_available():
        kinds += ["cuda", "cuda:1", torch.device("cuda", 3)]
    for device in kinds:
        for y in (x, torch.ones(2), [x], 3.5):
            refuses(RuntimeError, lambda d=device, y=y: ashore.to_torch(y, device=d), "reached")
    for y in (x, torch.ones(2)):
        refuses(ValueError, lambda y=y: ashore.to_torch(y, device="cuda", copy=False), "copy")
    meta = torch.ones(3, device="meta")
    refuses(TypeError, lambda: ashore.to_torch(meta, device="cpu"), "meta")


def test_c2_a_tensor_keeps_its_array_alive() -> None:
    for requires_grad in (False, True):
        array = np.arange(3.0)
        watch = weakref.ref(array)
        tensor = ashore.to_torch(array, requires_grad=requires_grad)
        view = tensor.detach()[1:]
        del array, tensor
        gc.collect()
        assert watch() is not None and view.tolist() == [1, 2]
        del view
        gc.collect()
        assert watch() is None


def test_t1_containers_of_tensors_and_arrays() -> None:
    plain = torch.ones(2)
    x: Any = ashore.to_torch({"a": np.ones(2), "b": [plain, None, "text", 3, (np.zeros(1),)]})
    assert x["b"][0] is plain and x["b"][1:4] == [None, "text", 3]
    assert x["a"].dtype == torch.float64 and x["b"][4][0].tolist() == [0]


def test_e2_not_enough_memory() -> None:
    wide = np.broadcast_to(np.zeros(1), (1 << 45,))
    for call in (
        lambda: ashore.to_torch(wide),
        lambda: ashore.to_torch(wide, dtype="float32"),
        lambda: ashore.to_torch(torch.zeros(1).expand(1 << 45), copy=True),
        lambda: ashore.to_numpy(wide, copy=True),
    ):
        refuses(MemoryError, call, "allocate")
    bytes_ = np.broadcast_to(np.zeros(1, np.int8), (1 << 62,))
    for convert in (ashore.to_torch, ashore.to_numpy, ashore.plan):
        refuses(ValueError, lambda convert=convert: convert(bytes_, dtype="float64"), "63 bits")
