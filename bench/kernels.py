"""Kernels: the bandwidth of large copies. For information until the kernels issue is done."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import repeat

import ashore
import numpy
import torch
from measure import Effort, Row, faster, statement_sampler

NAMES = {"ashore": ashore, "numpy": numpy, "torch": torch}
MOST_ROUNDS = 20  # a pass is one call of many milliseconds


@cache
def large(dtype: torch.dtype) -> torch.Tensor:
    """Make 16 Mi elements once."""
    return torch.ones(16 << 20, dtype=dtype)


def floats(calls: int) -> Iterable[object]:
    return repeat(large(torch.float32), calls)


def bfloats(calls: int) -> Iterable[object]:
    return repeat(large(torch.bfloat16), calls)


def rows(effort: Effort) -> list[Row]:
    """State two rows of "Bandwidth"; the kernels issue adds the rest."""
    rounds = min(effort.rounds, MOST_ROUNDS)
    return [
        Row(
            "copy-64MiB",
            "ashore.to_numpy(x, copy=True)",
            {"numpy.copy(x.numpy())": faster(1.5), "x.clone()": faster(4)},
            statement_sampler(floats, NAMES, 1),
            rounds,
            later=True,
        ),
        Row(
            "bfloat16-to-float32-16Mi",
            "ashore.to_numpy(x, dtype='float32')",
            {"x.to(torch.float32).numpy()": faster(3)},
            statement_sampler(bfloats, NAMES, 1),
            rounds,
            later=True,
        ),
    ]
