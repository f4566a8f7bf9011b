"""The emulated GPU: what it costs over the plain CPU.

Both run in one process, which has the emulator; the process that measures has not, since PyTorch
is another there.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

from measure import Effort, Row, Sample, Target, ms_over, times
from start_up import process_sampler

_WORKER = Path(__file__).with_name("emulated_worker.py")


def rows(effort: Effort) -> list[Row]:
    """State the rows of "The emulated GPU"."""

    def row(name: str, what: str, target: Target, share: int) -> Row:
        calls = max(1, effort.calls // share)

        def sampler(statement: str) -> Sample:
            return lambda: _ask(statement, calls)

        return Row(name, f"gpu.{what}()", {f"cpu.{what}()": target}, sampler, effort.rounds // 2)

    over = Target("≤ 0.3 µs over", lambda rival_s: rival_s + 0.3e-6)
    return [
        row("emulated-add", "add", over, 1),
        row("emulated-small-step", "small_step", times(1.25), 200),
        row("emulated-step", "wide_step", times(1.05), 500),
        Row(
            "emulated-start",
            "python -c 'import ashore; ashore.emulate.start(); import torch'",
            {"python -c 'import torch'": ms_over(300)},
            process_sampler,
            effort.processes,
        ),
    ]


def _ask(statement: str, calls: int) -> float:
    """Let the worker run one pass; return the seconds of one call."""
    worker = _worker()
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(json.dumps([statement, calls]) + "\n")
    worker.stdin.flush()
    answer = worker.stdout.readline()
    if not answer:
        sys.exit(f"bench: {_WORKER.name} ended with exit code {worker.wait()}")
    return float(answer)


@cache
def _worker() -> subprocess.Popen[str]:
    worker = subprocess.Popen(
        [sys.executable, str(_WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(worker.communicate)  # it ends when its input does
    return worker
