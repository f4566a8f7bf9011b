"""Contract C2, E1, E4: memory outlives what others do to it, and nothing is kept for longer."""

from __future__ import annotations

import gc
import sys
import tracemalloc
import weakref
from typing import Any

import ashore
import numpy as np
import pytest
import torch
from checks import address
from dlpack_producer import Producer
from processes import run_python
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


def test_c2_finalizers_at_any_moment() -> None:
    """The collector may run a finalizer in the middle of a conversion that frees the memory: then
    the array has what was there before or the conversion is refused, never freed memory."""
    run_python("""
        import gc
        import numpy as np, torch, ashore

        SIZE = 1 << 14
        class Mine(torch.Tensor):
            pass

        class Bomb:
            def __init__(self, tensor, how):
                self.tensor, self.how, self.me = tensor, how, self
            def __del__(self):
                try:
                    if self.how == "storage":
                        self.tensor.untyped_storage().resize_(0)
                    elif self.how == "data":
                        self.tensor.data = torch.zeros(SIZE, dtype=self.tensor.dtype)
                    elif self.how == "set":
                        self.tensor.set_(torch.zeros(SIZE, dtype=self.tensor.dtype))
                    else:
                        self.tensor.resize_(0)
                except RuntimeError:
                    pass

        def make(kind):
            tensor = torch.full((SIZE,), 7.0, dtype=torch.bfloat16 if kind == "half" else None)
            if kind == "grad":
                tensor.requires_grad_()
            return tensor.as_subclass(Mine) if kind == "subclass" else tensor

        calls = [ashore.to_numpy, lambda t: ashore.to_numpy(t, copy=True),
                 lambda t: ashore.to_numpy(ashore.to_torch(t, dtype="float64"))]
        ashore.to_numpy(make("half"))
        refused = answered = 0
        gc.disable()
        gc.collect()
        gc.freeze()  # a collection costs nothing then
        for kind in ("plain", "half", "grad", "subclass"):
            for how in ("storage", "data", "set", "resize"):
                for threshold in [*range(1, 30), *range(30, 90, 7)]:
                    for call in calls:
                        tensor = make(kind)
                        gc.collect()
                        Bomb(tensor, how)
                        gc.set_threshold(threshold, 1000, 1000)
                        gc.enable()
                        try:
                            array = call(tensor)
                        except (RuntimeError, TypeError):
                            array = np.zeros(0)
                            refused += 1
                        gc.disable()
                        junk = [torch.full((SIZE,), 99.0) for _ in range(4)]
                        values = array.astype("float32")
                        assert values.size == 0 or (values == 7).all() or (values == 0).all(), (
                            kind, how, threshold, values[:4])
                        answered += values.size > 0
        assert refused and answered
    """)


def test_c2_shrunk_storages_are_never_read_past_their_end() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.uint8):
        shrunk = torch.ones(1000, dtype=dtype)
        shrunk.untyped_storage().resize_(16)
        grown = torch.ones(4, dtype=dtype)
        ashore.to_numpy(grown)
        with pytest.raises(RuntimeError):
            grown.resize_(10**8)
        moved = torch.ones(8, dtype=dtype)[4:]
        moved.untyped_storage().resize_(4 * moved.element_size())
        for x in (shrunk, grown, moved, shrunk.as_subclass(type("Mine", (torch.Tensor,), {}))):
            for options in ({}, {"copy": True}, {"copy": False}, {"dtype": "float64"}):
                with pytest.raises(TypeError, match="memory"):
                    ashore.to_numpy(x, **options)
            with pytest.raises(TypeError, match="memory"):
                ashore.to_torch(x, dtype="float64")
        whole = torch.ones(4, dtype=dtype)
        whole.untyped_storage().resize_(4 * whole.element_size())
        assert ashore.to_numpy(whole).tolist() == [1] * 4


class Wrong(TorchDispatchMode):
    """A mode that answers every question with other tensors."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return torch.zeros_like(result) if isinstance(result, torch.Tensor) else result


class Silent(TorchFunctionMode):
    """A mode that answers every question with nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return None


class Raising(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError("do not touch")


@pytest.mark.parametrize("mode", [Wrong, Silent, Raising])
def test_c2_no_mode_of_pytorch_changes_an_answer(mode: Any) -> None:
    kinds = {
        "plain": lambda: torch.tensor([1.0, 2.0]),
        "half": lambda: torch.tensor([1.0, 2.0]).bfloat16(),
        "grad": lambda: torch.tensor([1.0, 2.0], requires_grad=True),
        "conj": lambda: torch.tensor([1 - 1j, 2.0]).conj(),
        "neg": lambda: torch._neg_view(torch.tensor([-1.0, -2.0])),
        "complex": lambda: torch.tensor([1 + 1j, 2.0]),
        "uint8": lambda: torch.tensor([1, 2], dtype=torch.uint8),
    }
    for name, make in kinds.items():
        want = [1 + 1j, 2] if name in ("conj", "complex") else [1, 2]
        for _ in range(2):
            x = make()
            start = x.data_ptr()
            with mode():
                out = ashore.to_numpy(x)
                again = ashore.to_numpy(x)
                wide = ashore.to_numpy(x, dtype="complex128")
                own = ashore.to_numpy(x, copy=True)
                tensor = ashore.to_torch(x, dtype="complex128")
                copied = ashore.to_torch(x, copy=True)
            for got in (out, again, wide, own):
                assert got.astype("complex128").tolist() == want
            if name not in ("conj", "neg"):
                assert address(out) == address(again) == start
            assert tensor.tolist() == want and copied.tolist() == want
    array = np.array([1.0, 2.0])
    with mode():
        shared = ashore.to_torch(array)
        made = [ashore.to_torch(array, copy=True), ashore.to_torch([1.0, 2.0])]
        leaf = ashore.to_torch(array, requires_grad=True)
    assert shared.data_ptr() == array.ctypes.data and leaf.requires_grad
    assert all(x.tolist() == [1, 2] for x in (shared, leaf, *made))


def test_c2_to_torch_inside_function_transforms() -> None:
    def convert(x: torch.Tensor) -> torch.Tensor:
        made = [
            ashore.to_torch(np.ones(2, np.float32)),
            ashore.to_torch(np.ones(2, np.float32), copy=True),
            ashore.to_torch([1.0, 1.0]),
            ashore.to_torch(outside, dtype="float32"),
            ashore.to_torch(outside, copy=True),
            ashore.to_torch(np.ones((0,))),
        ]
        assert all(type(y) is torch.Tensor and ashore.to_numpy(y).ndim for y in made)
        return sum((x * y).sum() for y in made[:5])  # type: ignore[return-value]

    outside = torch.ones(2).bfloat16()
    assert torch.func.grad(convert)(torch.ones(2)).tolist() == [5, 5]
    assert torch.func.vmap(convert)(torch.ones(3, 2)).tolist() == [10, 10, 10]


def test_c2_memory_goes_with_the_last_view() -> None:
    for make in (
        lambda: torch.ones(3),
        lambda: torch.ones(3).bfloat16(),
        lambda: torch.nn.Parameter(torch.ones(3)),
        lambda: torch.ones(3).as_subclass(type("Mine", (torch.Tensor,), {})),
    ):
        x = make()
        storage = weakref.ref(x.untyped_storage())
        view = ashore.to_numpy(x)[1:]
        del x
        gc.collect()
        assert view.astype("f4").tolist() == [1, 1]
        del view
        gc.collect()
        assert storage() is None


def test_e1_nothing_leaks() -> None:
    class Mine(torch.Tensor):
        pass

    tensor, half = torch.ones(8), torch.ones(8).bfloat16()
    array, swapped = np.ones(8), np.ones(8, ">f4")
    lazy = torch.ones(2, dtype=torch.complex64).conj()
    out = np.empty(8)
    box = {"a": [tensor, 1], "b": (half, {"c": array})}

    def work() -> None:
        for x in (tensor, half, array, swapped, lazy, box, 3.5, [1, 2], bytearray(4)):
            ashore.to_numpy(x)
            ashore.to_numpy(x, copy=True, dtype="complex128", order="C")
            ashore.to_torch(x)
            ashore.plan(x)
        ashore.to_numpy(tensor, out=out)
        ashore.to_numpy(torch.ones(8).as_subclass(Mine))
        ashore.to_torch(array, requires_grad=True)
        ashore.to_image(np.ones((4, 4)))
        ashore.tensors_to_numpy(tensor, half)
        for versioned in (True, False):
            ashore.to_numpy(Producer(versioned=versioned))
            ashore.to_torch(Producer(versioned=versioned))
        for bad in (
            torch.eye(2).to_sparse(),
            np.array([None]),
            "text",
            [[1], [1, 2]],
            Producer(lanes=2),
        ):
            with pytest.raises((TypeError, ValueError)):
                ashore.to_numpy(bad)
        with pytest.raises(ValueError):
            ashore.to_numpy(tensor, dtype="f8", copy=False)

    for _ in range(20):
        work()
    gc.collect()
    watched: list[Any] = [tensor, half, array, out, np.dtype("f4"), torch.float32, 8, "copy"]
    counts = [sys.getrefcount(x) for x in watched]
    objects = len(gc.get_objects())
    tracemalloc.start()
    for _ in range(20):
        work()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(100):
        work()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 50_000, f"{grown} bytes more after 100 rounds of 80 conversions"
    assert [sys.getrefcount(x) for x in watched][:4] == counts[:4]
    assert abs(sum(map(sys.getrefcount, watched)) - sum(counts)) < 50
    assert abs(len(gc.get_objects()) - objects) < 100


def test_e4_many_results_alive_at_exit() -> None:
    run_python("""
        import threading
        import numpy as np, torch, ashore

        class Owner:
            def __init__(self):
                self.memory = np.ones(1000, np.float32)
            def __array__(self, dtype=None, copy=None):
                return self.memory
            def __del__(self):
                self.memory[:] = 0

        kept = [ashore.to_numpy(torch.ones(1000)), ashore.to_torch(np.ones(1000)),
                ashore.to_torch(Owner()), ashore.to_torch(np.ones(3), requires_grad=True),
                ashore.to_numpy(torch.ones(3).bfloat16()), ashore.to_torch(bytearray(8))]
        (kept[3] * 2).sum().backward()
        torch.kept, np.kept, ashore.kept = kept, kept, kept
        ring = [kept]
        ring.append(ring)
        tensors = [ashore.to_torch(np.ones(10)) for _ in range(100)]
        thread = threading.Thread(target=tensors.clear)  # the last tensors die on another thread
        thread.start()
        thread.join()
    """)


def test_e4_tensors_that_die_without_the_gil() -> None:
    run_python("""
        import gc
        import weakref
        import numpy as np, torch, ashore

        array = np.ones(1000)
        watch = weakref.ref(array)
        leaf = ashore.to_torch(array, requires_grad=True)
        loss = (leaf * leaf).sum()  # the graph holds the tensor, and frees it on PyTorch's thread
        del array, leaf
        loss.backward()
        del loss
        gc.collect()
        assert watch() is None
    """)
