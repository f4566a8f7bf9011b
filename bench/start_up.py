"""Start-up: what a process pays before it converts anything. Whole processes are timed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from subprocess import DEVNULL
from time import perf_counter

from measure import Effort, Row, Sample, ms_in_all, ms_over, times

BARE = "python -c pass"
NUMPY = "python -c 'import numpy'"


def process_sampler(command: str) -> Sample:
    """Return a sampler of the command; `python` is the interpreter that runs this."""
    arguments = [sys.executable if a == "python" else a for a in shlex.split(command)]
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode

    def sample() -> float:
        start = perf_counter()
        subprocess.run(arguments, check=True, env=environment, stdin=DEVNULL, stdout=DEVNULL)
        return perf_counter() - start

    return sample


def rows(effort: Effort) -> list[Row]:
    """State the rows of "Start-up"."""
    return [
        Row(
            "import",
            "python -c 'import ashore'",
            {BARE: ms_over(25), NUMPY: None},
            process_sampler,
            effort.processes,
        ),
        Row(
            "first-conversion",
            "python -c 'import ashore; ashore.to_numpy([1.0, 2.0])'",
            {NUMPY: times(1.2)},
            process_sampler,
            effort.processes,
        ),
        Row(
            "help",
            "python -m ashore --help",
            {BARE: ms_in_all(90)},
            process_sampler,
            effort.processes,
        ),
    ]
