"""The six everyday conversions: do each, check it against the framework, say what ashore did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

import ashore


@dataclass(frozen=True)
class Conversion:
    """Tell what one conversion was given, what came out, and how."""

    name: str
    call: str
    result: str
    did: str
    bytes: int
    """Bytes of the result."""
    copied_bytes: int
    """Bytes that were written on the way; 0 for a share."""
    why: str
    right: bool
    """Whether the values are the framework's own, and `did` is what happened."""


def six(model: nn.Module, features: torch.Tensor) -> list[Conversion]:
    """Convert on the device of `features` (n, inputs), with a model that lives there too."""
    device = features.device
    model.eval()
    with torch.no_grad():
        without_graph = model(features)
    several = tuple(torch.randn(n, n, device=device) for n in (3, 5, 2))
    return [
        _ashore("a device tensor", torch.randn(3, 4, device=device)),
        _ashore("one with grad", torch.randn(3, 4, device=device, requires_grad=True)),
        _ashore("a model's output", model(features)),
        _ashore("under no_grad", without_graph),
        _several_ashore("several tensors", several),
        _to_device("NumPy to device", np.arange(12.0).reshape(3, 4), device),
    ]


def _ashore(name: str, tensor: torch.Tensor) -> Conversion:
    plan = ashore.plan(tensor)
    array = ashore.to_numpy(tensor)
    return _told(name, "to_numpy", plan, _kind(array), _is_right(plan, [array], [tensor]))


def _several_ashore(name: str, tensors: tuple[torch.Tensor, ...]) -> Conversion:
    plan = ashore.plan(tensors)
    arrays = ashore.tensors_to_numpy(*tensors)
    right = _is_right(plan, arrays, tensors)
    return _told(name, "tensors_to_numpy", plan, f"{len(arrays)} arrays", right)


def _is_right(
    plan: ashore.Plan,
    arrays: Sequence[np.ndarray[Any, Any]],
    tensors: Sequence[torch.Tensor],
) -> bool:
    """Tell whether all values are right, and memory is shared exactly where the plan says so."""
    return all(
        np.array_equal(array, _by_hand(tensor))
        and (entry.action == "share") == (array.ctypes.data == tensor.data_ptr())
        for entry, array, tensor in zip(plan.entries, arrays, tensors, strict=True)
    )


def _to_device(name: str, array: np.ndarray[Any, Any], device: torch.device) -> Conversion:
    tensor = ashore.to_torch(array, device=device)
    shared = tensor.data_ptr() == array.ctypes.data
    return Conversion(
        name=name,
        call="to_torch",
        result=_kind(array),
        did="share" if shared else "copy",
        bytes=array.nbytes,
        copied_bytes=0 if shared else array.nbytes,
        why="the device reads host memory" if shared else f"{device} has its own memory",
        right=tensor.device == device and np.array_equal(array, _by_hand(tensor)),
    )


def _told(name: str, call: str, plan: ashore.Plan, result: str, right: bool) -> Conversion:
    return Conversion(
        name=name,
        call=call,
        result=result,
        did=_each(plan, lambda entry: " + ".join((*entry.steps, entry.action))),
        bytes=plan.bytes,
        copied_bytes=plan.copied_bytes,
        why=_each(plan, lambda entry: entry.why),
        right=right,
    )


def _each(plan: ashore.Plan, say: Callable[[Any], str]) -> str:
    """Say something of every entry, what they have in common only once."""
    return "; ".join(dict.fromkeys(say(entry) for entry in plan.entries))


def _by_hand(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    return tensor.detach().cpu().numpy()


def _kind(array: np.ndarray[Any, Any]) -> str:
    return f"{array.dtype} {array.shape}"
