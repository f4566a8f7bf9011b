"""Evaluate expressions that mix devices, on the emulated GPU: a list of them on stdin, one
of their outcomes on stdout, both JSON. Started by test_device_mix.py."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import ashore.emulate


def names() -> dict[str, Any]:
    """Return what the expressions may use."""
    import torch

    d = "cuda"

    def ip(tensor: torch.Tensor, index: Any, value: Any) -> torch.Tensor:
        tensor = tensor.clone()
        tensor[index] = value
        return tensor

    def param(tensor: torch.Tensor, grad: torch.Tensor | None = None) -> torch.nn.Parameter:
        made = torch.nn.Parameter(tensor.clone())
        made.grad = grad if grad is None else grad.clone()
        return made

    def set_data(tensor: torch.Tensor, data: torch.Tensor) -> torch.Tensor:
        tensor.data = data
        return tensor

    def load_state(module: torch.nn.Module) -> torch.Tensor:
        module.load_state_dict({name: p.cpu() for name, p in module.state_dict().items()})
        return next(module.parameters())

    def autocast(compute: Callable[[], Any]) -> Any:
        with torch.autocast(d):
            return compute()

    def deterministic(compute: Callable[[], Any]) -> Any:
        torch.use_deterministic_algorithms(True)
        try:
            return compute()
        finally:
            torch.use_deterministic_algorithms(False)

    def no_sync(compute: Callable[[], Any]) -> Any:
        torch.cuda.set_sync_debug_mode("error")
        try:
            return compute()
        finally:
            torch.cuda.set_sync_debug_mode("default")

    def adam(tensor: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        parameter = param(tensor, tensor)
        optimizer = torch.optim.Adam([parameter])
        optimizer.step()
        optimizer.state[parameter]["exp_avg"] = state.clone()
        optimizer.step()
        return parameter

    return {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "d": d,
        "c": torch.ones(2, 3, device=d),
        "h": torch.ones(2, 3),
        "ci": torch.tensor([0, 1], device=d),
        "hi": torch.tensor([0, 1]),
        "ip": ip,
        "param": param,
        "set_data": set_data,
        "load_state": load_state,
        "autocast": autocast,
        "adam": adam,
        "deterministic": deterministic,
        "no_sync": no_sync,
    }


def outcome(code: str, known: dict[str, Any]) -> str:
    """Return the device of the result, its value, or the whole error."""
    import torch

    try:
        result = eval(code, dict(known))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(result, tuple | list) and result and isinstance(result[0], torch.Tensor):
        result = result[0]
    return str(result.device) if isinstance(result, torch.Tensor) else repr(result)


def main() -> None:
    """Answer."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    ashore.emulate.start(devices=2, memory="1GiB")
    warnings.simplefilter("ignore")
    known = names()
    json.dump([outcome(code, known) for code in json.load(sys.stdin)], answers)


if __name__ == "__main__":
    main()
