"""`optim_db`: every optimizer with all its options, by default and foreach, fused and capturable:
three steps must give the parameters that the plain CPU gives."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from options import Options
from outcomes import Outcome
from torch.testing._internal.common_optimizers import optim_db

WAYS = ("default", "foreach", "fused", "capturable")


def cases() -> dict[str, Any]:
    """Return each way to run each optimizer."""
    return {
        f"{info.optim_cls.__name__} {way}": (info, way)
        for info in optim_db
        for way in WAYS
        if _supports(info, way)
    }


def _supports(info: Any, way: str) -> bool:
    if way == "fused":
        return "fused" in info.supported_impls and "cuda" in info.supports_fused_on
    if way == "capturable":
        return "capturable" in info.optim_cls.__init__.__code__.co_varnames
    return way == "default" or way in info.supported_impls


def run(case: str, info_and_way: tuple[Any, str], options: Options) -> Outcome:
    """Run one optimizer in one way."""
    info, way = info_and_way
    outcome, start = Outcome(case), time.perf_counter()
    for index, given in enumerate(info.optim_inputs_func(device="cuda")):
        chosen = dict(given.kwargs) | ({} if way == "default" else {way: True})
        try:
            wanted = _train(info, chosen, "cpu")
        except Exception:
            outcome.left_out += 1
            continue
        try:
            found = _train(info, chosen, "cuda")
            assert all(parameter.is_cuda for parameter in found)
            torch.testing.assert_close(
                [parameter.cpu() for parameter in found], wanted, rtol=1e-4, atol=1e-4
            )
            outcome.passed += 1
        except Exception as error:
            outcome.fail(torch.float32, index, error)
    return outcome.close(time.perf_counter() - start)


def _train(info: Any, chosen: dict[str, Any], device: str) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    parameters = [
        torch.nn.Parameter(torch.randn(4, 3, generator=generator).to(device)) for _ in range(3)
    ]
    ours = {
        name: value.to(device) if isinstance(value, torch.Tensor) else value
        for name, value in chosen.items()
        if device == "cuda" or name not in ("capturable", "fused")
    }
    optimizer = info.optim_cls(parameters, **ours)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        if info.only_supports_sparse_grads:
            return _sparse_loss(parameters)
        loss = sum((parameter**2).sum() for parameter in parameters)
        loss.backward()
        return loss

    for _ in range(3):
        _step(optimizer, closure, info.step_requires_closure)
    return [parameter.detach() for parameter in parameters]


def _sparse_loss(parameters: list[torch.Tensor]) -> torch.Tensor:
    rows = torch.tensor([0, 2, 2], device=parameters[0].device)
    loss = sum(
        (torch.nn.functional.embedding(rows, parameter, sparse=True) ** 2).sum()
        for parameter in parameters
    )
    loss.backward()
    return loss


def _step(optimizer: Any, closure: Callable[[], torch.Tensor], takes_closure: bool) -> None:
    if takes_closure:
        optimizer.step(closure)
    else:
        closure()
        optimizer.step()
