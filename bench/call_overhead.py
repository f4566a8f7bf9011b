"""Call overhead: what one call costs where no byte has to move (float32 of 4 elements).

"Locked" tensors have been shared with NumPy before; "fresh" ones, made for each pass, have not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import repeat

import ashore
import numpy
import optree
import torch
from measure import Effort, Row, Target, statement_sampler, times
from torch.utils import _pytree as pytree

NAMES = {"ashore": ashore, "numpy": numpy, "optree": optree, "torch": torch, "pytree": pytree}
CHAIN = "x.detach().cpu().numpy()"  # the everyday idiom

Make = Callable[[], torch.Tensor]


def plain() -> torch.Tensor:
    return torch.ones(4)


def with_grad() -> torch.Tensor:
    return torch.ones(4, requires_grad=True)


def bfloat16() -> torch.Tensor:
    return torch.ones(4, dtype=torch.bfloat16)


def locked(make: Make) -> torch.Tensor:
    """Make a tensor and share it once."""
    tensor = make()
    ashore.to_numpy(tensor)
    return tensor


def nested(make: Make) -> dict[str, object]:
    """Make nested containers with 100 locked tensors, as a model's outputs and states come."""
    return {
        f"layer{number}": {
            "states": [locked(make) for _ in range(5)],
            "caches": tuple(locked(make) for _ in range(5)),
        }
        for number in range(10)
    }


def rows(effort: Effort) -> list[Row]:
    """State the rows of "Call overhead"."""

    def row(
        name: str,
        ours: str,
        rivals: Mapping[str, Target | None],
        items: Callable[[int], Iterable[object]],
        calls: int = effort.calls,
    ) -> Row:
        return Row(name, ours, rivals, statement_sampler(items, NAMES, calls), effort.rounds)

    def same(item: object) -> Callable[[int], Iterable[object]]:
        return lambda calls: repeat(item, calls)

    def fresh(make: Make) -> Callable[[int], Iterable[object]]:
        return lambda calls: [make() for _ in range(calls)]

    share, copy = "ashore.to_numpy(x)", "ashore.to_numpy(x, copy=True)"
    few = max(1, effort.calls // 50)  # for calls that convert a hundred tensors
    return [
        row(
            "locked",
            share,
            {"x.numpy()": times(0.40), CHAIN: times(0.22), "numpy.from_dlpack(x)": None},
            same(locked(plain)),
        ),
        row("fresh", share, {"x.numpy()": times(1.1), CHAIN: times(0.65)}, fresh(plain)),
        row("fresh-grad", share, {CHAIN: times(1.0)}, fresh(with_grad)),
        row("locked-grad", share, {CHAIN: times(0.25)}, same(locked(with_grad))),
        row("copy-locked", copy, {"x.numpy().copy()": times(0.40)}, same(locked(plain))),
        row("copy-fresh", copy, {"x.numpy().copy()": times(0.40)}, fresh(plain)),
        row("bfloat16-locked", share, {"x.float().numpy()": times(0.25)}, same(locked(bfloat16))),
        row("bfloat16-fresh", share, {"x.float().numpy()": times(0.8)}, fresh(bfloat16)),
        row(
            "list-of-100",
            share,
            {"[y.numpy() for y in x]": times(0.45)},
            same([locked(plain) for _ in range(100)]),
            few,
        ),
        row(
            "nested-100",
            share,
            {
                "pytree.tree_map(torch.Tensor.numpy, x)": times(0.2),
                "optree.tree_map(torch.Tensor.numpy, x)": None,
            },
            same(nested(plain)),
            few,
        ),
        row(
            "to-torch",
            "ashore.to_torch(x)",
            {"torch.from_numpy(x)": times(0.8), "torch.as_tensor(x)": None},
            same(numpy.ones(4, numpy.float32)),
        ),
    ]
