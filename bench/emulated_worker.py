"""Run statements about a `gpu`, which is emulated, and a `cpu`. Started by emulated.py.

Each line of standard input is JSON, [statement, calls]; the answer is the seconds of one call.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from time import perf_counter

import ashore

ashore.emulate.start()

import torch  # noqa: E402
from torch import nn  # noqa: E402


class Work:
    """Hold what the statements do, ready to run on one device."""

    def __init__(self, device: str) -> None:
        """Make all tensors and models, the same on each device."""
        torch.manual_seed(0)
        self.device = device
        self.tiny = torch.ones(4, device=device)
        self.small_step = self._training_step(hidden=32, batch=16)
        self.wide_step = self._training_step(hidden=256, batch=256)

    def add(self) -> torch.Tensor:
        """Add two tensors of 4 elements."""
        return self.tiny + self.tiny

    def _training_step(self, hidden: int, batch: int) -> Callable[[], None]:
        sizes = [(64, hidden), (hidden, hidden)]
        layers = [layer for a, b in sizes for layer in (nn.Linear(a, b), nn.ReLU())]
        model = nn.Sequential(*layers, nn.Linear(hidden, 10)).to(self.device)
        optimizer = torch.optim.AdamW(model.parameters())
        features = torch.randn(batch, 64).to(self.device)
        labels = torch.randint(0, 10, (batch,)).to(self.device)

        def step() -> None:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(features), labels).backward()
            optimizer.step()

        return step


def main() -> None:
    """Answer until standard input ends."""
    torch.set_num_threads(1)
    scope = {"gpu": Work("cuda"), "cpu": Work("cpu")}
    runs: dict[str, Callable[[range], None]] = {}
    for line in sys.stdin:
        statement, calls = json.loads(line)
        if statement not in runs:
            exec(f"def run(calls):\n    for _ in calls: {statement}\n", scope)
            runs[statement] = scope["run"]  # type: ignore[assignment]
        start = perf_counter()
        runs[statement](range(calls))
        print((perf_counter() - start) / calls, flush=True)


if __name__ == "__main__":
    main()
