"""Contract C4: no dtype pair goes through NumPy's `astype` or `copyto`, nor through PyTorch.

The rule is the same wherever a cast runs, so it must run in one place. NumPy is watched by patches
and a subclass, PyTorch by its profiler, which sees each operator whatever calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ashore
import numpy as np
import pytest
import torch
from layouts import BUILTIN, ML, TORCH, dtype_of, numbers

# PyTorch's operators that move no element: memory to fill, views of memory, and those that only
# ask whether something is to be done (what then does it is _to_copy, copy_ or clone).
HARMLESS = {
    f"aten::{name}"
    for name in (
        "empty_strided detach alias view set_ empty as_strided to resolve_conj resolve_neg"
    ).split()
} | {"detach"}


class Watched(np.ndarray):
    """An ndarray that notes who asks it to do something."""

    calls: list[str] = []  # noqa: RUF012

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        self.calls.append("astype")
        return super().astype(*args, **kwargs)

    def copy(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        self.calls.append("copy")
        return super().copy(*args, **kwargs)

    def __array_function__(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        self.calls.append(func.__name__)
        return super().__array_function__(func, *args, **kwargs)

    def __array_ufunc__(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        self.calls.append(func.__name__)
        plain = [np.asarray(x) if isinstance(x, Watched) else x for x in args[1:]]
        return getattr(func, args[0])(*plain, **kwargs)


def noted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        Watched.calls.append(f"np.{name}")
        return real(*args, **kwargs)

    return call


def calls_of(work: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return what the work asks of NumPy and PyTorch, other than what moves no element."""
    Watched.calls.clear()
    with monkeypatch.context() as patch:
        for name in ("copyto", "array", "asarray", "ascontiguousarray", "require", "copy"):
            patch.setattr(np, name, noted(name, getattr(np, name)))
        with torch.autograd.profiler.profile() as profile:
            work()
    return {*Watched.calls, *(event.name for event in profile.function_events)} - HARMLESS


def test_c4_the_watch_sees_casts(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor, watched = torch.ones(2), np.ones(2).view(Watched)

    def work() -> None:
        tensor.to(torch.float64)
        with torch._C.DisableTorchFunction():
            tensor.bfloat16()
        watched.astype("f4")
        np.copyto(watched, 1)
        np.add(watched, 1)

    seen = calls_of(work, monkeypatch)
    assert {"aten::_to_copy", "aten::copy_", "astype", "np.copyto", "add"} <= seen


@pytest.mark.parametrize("source", BUILTIN + ML)
def test_c4_no_cast_goes_through_numpy_or_pytorch(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = numbers((3, 4), source)
    watched = array.view(Watched)
    tensor = ashore.to_torch(array, copy=True) if source in TORCH else None
    turned = tensor.t() if tensor is not None else None
    ashore.to_numpy(np.ones(1), dtype="bfloat16")  # ml_dtypes is imported before the watch begins
    for target in BUILTIN + ML:
        if dtype_of(source).name.startswith("complex") and "complex" not in dtype_of(target).name:
            continue
        wanted, out = dtype_of(target), np.zeros((3, 4), dtype_of(target))
        results: list[Any] = []

        def work(
            results: Any = results, wanted: Any = wanted, out: Any = out, target: str = target
        ) -> Any:
            arrays, tensors = [ashore.to_numpy(watched, out=out)], []
            for x in (watched, watched[:, ::-1], tensor, turned):
                if x is not None:
                    arrays.append(ashore.to_numpy(x, dtype=wanted, copy=True))
                    arrays.append(ashore.to_numpy(x, dtype=wanted, order="C"))
                if x is not None and target in TORCH:
                    tensors.append(ashore.to_torch(x, dtype=target, copy=True))
            results[:] = arrays, tensors

        assert calls_of(work, monkeypatch) == set(), (source, target)
        assert all(got.dtype == wanted and got.size == 12 for got in results[0])
        assert all(str(got.dtype) == f"torch.{target}" for got in results[1])
