"""The same values on the host and on the emulated GPU: copies that keep storages, comparisons that
know which results are random. Used by the databases."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch.utils._pytree import tree_leaves, tree_map

LARGEST_STORAGE_BYTES = 1 << 22  # copied whole, so that views keep their layout


def tensors(tree: Any) -> list[torch.Tensor]:
    """Return the tensors of a tree of lists, tuples and dicts, in order."""
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def as_leaves(tree: Any) -> Any:
    """Return the tree with tensors that do not depend on one another for gradients."""
    return tree_map(
        lambda leaf: (
            leaf.detach().requires_grad_(leaf.requires_grad)
            if isinstance(leaf, torch.Tensor) and not isinstance(leaf, torch.nn.Parameter)
            else leaf
        ),
        tree,
    )


class HostCopies:
    """Copies on the host of everything in a tree: tensors that share a storage share one there too,
    with the same offsets and strides, since `as_strided` and its like see them."""

    def __init__(self) -> None:
        self._storages: dict[int, torch.UntypedStorage] = {}

    def __call__(self, tree: Any) -> Any:
        return tree_map(self._leaf, tree)

    def _leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.device):
            return torch.device("cpu") if leaf.type == "cuda" else leaf
        if isinstance(leaf, str) and leaf.startswith("cuda"):
            return "cpu"
        if isinstance(leaf, torch.nn.Module):
            return copy.deepcopy(leaf).cpu()
        if not isinstance(leaf, torch.Tensor):
            return leaf
        return self._tensor(leaf).requires_grad_(leaf.requires_grad)

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        has_bytes = (
            tensor.layout is torch.strided
            and tensor.is_cuda
            and not tensor.is_nested
            and not tensor.is_quantized
            and type(tensor) in (torch.Tensor, torch.nn.Parameter)
        )
        if not has_bytes or tensor.untyped_storage().nbytes() > LARGEST_STORAGE_BYTES:
            return tensor.detach().cpu()
        storage = tensor.untyped_storage()
        if storage._cdata not in self._storages:
            self._storages[storage._cdata] = storage.cpu()
        made = torch.empty(0, dtype=tensor.dtype).set_(
            self._storages[storage._cdata],
            tensor.storage_offset(),
            tensor.shape,
            tensor.stride(),
        )
        if tensor.is_conj():
            made = made.conj()
        return torch._neg_view(made) if tensor.is_neg() else made


def device_copies(tree: Any) -> Any:
    """Return copies on the emulated GPU of everything in a tree."""

    def leaf(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.cuda()
        is_host = isinstance(value, torch.device | str) and str(value).startswith("cpu")
        return "cuda" if is_host else value

    return tree_map(leaf, tree)


def assert_alike(found: Any, wanted: Any, tolerance: tuple[float, float], values: bool) -> None:
    """Assert that two trees of results are alike; without `values` all but the values."""
    on_device, on_host = tensors(found), tensors(wanted)
    assert len(on_device) == len(on_host), f"{len(on_device)} results, not {len(on_host)}"
    for one, other in zip(on_device, on_host, strict=True):
        assert one.shape == other.shape, f"shape {tuple(one.shape)}, not {tuple(other.shape)}"
        assert one.dtype == other.dtype, f"{one.dtype}, not {other.dtype}"
        assert one.layout == other.layout, f"{one.layout}, not {other.layout}"
        if values:
            torch.testing.assert_close(
                _comparable(one), _comparable(other), equal_nan=True, rtol=tolerance[0],
                atol=tolerance[1],
            )  # fmt: skip
    others = [leaf for leaf in tree_leaves(found) if not isinstance(leaf, torch.Tensor)]
    same = [leaf for leaf in tree_leaves(wanted) if not isinstance(leaf, torch.Tensor)]
    if values and all(isinstance(leaf, bool | int | float | str) for leaf in (*others, *same)):
        torch.testing.assert_close(others, same, equal_nan=True)


def _comparable(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach().cpu()
    is_float8 = tensor.is_floating_point() and tensor.dtype.itemsize == 1
    return tensor.float() if is_float8 else tensor


def loss(results: Any) -> torch.Tensor | None:
    """Return one number that depends on every differentiable result, if there is one."""
    parts = []
    for result in tensors(results):
        if result.requires_grad and (result.is_floating_point() or result.is_complex()):
            if result.is_nested:
                result = result.values() if result.layout is torch.jagged else torch.cat(
                    [part.flatten() for part in result.unbind()]
                )  # fmt: skip
            parts.append((result if result.layout is torch.strided else result.to_dense()).abs())
    return (
        sum((part.double().sum() for part in parts[1:]), parts[0].double().sum()) if parts else None
    )


def gradients(results: Any, inputs: list[torch.Tensor]) -> list[torch.Tensor | None]:
    """Return the gradients of `loss` with respect to those inputs that want one."""
    total = loss(results)
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    if total is None or not wanted:
        return []
    return list(torch.autograd.grad(total, wanted, allow_unused=True))


def on_device(results: Any) -> Iterator[bool]:
    """Tell of each result whether it is on the emulated GPU."""
    return (tensor.is_cuda for tensor in tensors(results))


def is_random(compute: Callable[[], Any], wanted: Any) -> bool:
    """Tell whether a computation gives another result with some seed, even if it sets its own."""
    for seed in range(1, 100):
        torch.manual_seed(seed)
        with mock.patch.object(torch, "manual_seed"):
            again = compute()
        if not are_equal(again, wanted):
            return True
    return False


def are_equal(one: Any, other: Any) -> bool:
    """Tell whether two trees hold the same values."""
    try:
        for left, right in zip(tensors(one), tensors(other), strict=True):
            torch.testing.assert_close(
                _comparable(left), _comparable(right), equal_nan=True, rtol=1e-6, atol=1e-6
            )
    except (AssertionError, RuntimeError):
        return False
    return True
