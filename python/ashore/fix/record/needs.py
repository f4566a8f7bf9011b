"""What a tensor needs before NumPy can read it, by the planner's names, and the doing of it."""

from __future__ import annotations

from typing import Any


def needs_of(tensor: Any) -> set[str]:
    """Return the conversions without which `tensor.numpy()` raises."""
    import torch

    needs = set()
    if tensor.device.type not in ("cpu", "meta"):
        needs.add("cpu")
    if tensor.requires_grad and torch.is_grad_enabled():
        needs.add("detach")
    if tensor.dtype is torch.bfloat16:
        needs.add("float")
    if tensor.layout is torch.strided:
        if tensor.is_conj():
            needs.add("resolve_conj")
        if tensor.is_neg():
            needs.add("resolve_neg")
    return needs


def made_safe(tensor: Any) -> Any:
    """Return the tensor as NumPy can read it."""
    import torch

    tensor = tensor.detach().cpu()
    if tensor.dtype is torch.bfloat16:
        tensor = tensor.float()
    return tensor.resolve_conj().resolve_neg()
