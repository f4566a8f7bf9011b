"""Checking programs: `ashore check` on PyTorch's own sources, beside pyflakes and ruff.

Whole processes are timed, on one core. The tools look for different things; the rivals say what
reading so much Python costs.
"""

from __future__ import annotations

import atexit
import os
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from measure import Effort, Row, Sample, Target, ms_in_all

FOLDERS = ("nn", "utils")
LINES_A_SECOND = 100_000
AGAIN_S_PER_LINE = 0.3 / 500_000
MOST_ROUNDS = 3


def rows(effort: Effort) -> list[Row]:
    """State the rows of "Checking programs"."""
    rounds = min(effort.processes, MOST_ROUNDS)
    lines = _lines([_torch() / folder for folder in FOLDERS])
    lines_again = _lines([_torch()])
    whole = Target(f"≥ {LINES_A_SECOND:,} lines/s", lambda rival_s: lines / LINES_A_SECOND)
    again = Target("≤ 0.3 s per 500,000 lines", lambda rival_s: lines_again * AGAIN_S_PER_LINE)
    return [
        Row(
            "check",
            "python -m ashore check --no-cache --jobs 1 TORCH",
            {"python -m pyflakes TORCH": whole, "ruff check --isolated --no-cache TORCH": None},
            _sampler,
            rounds,
        ),
        Row(
            "check-again",
            "python -m ashore check ALL_TORCH",
            {"python -c pass": again, "ruff check --isolated ALL_TORCH": None},
            _sampler,
            rounds,
        ),
        Row(
            "check-start",
            "python -m ashore check FILE",
            {"python -c pass": ms_in_all(90)},
            _sampler,
            effort.processes,
        ),
    ]


def _sampler(command: str) -> Sample:
    words = {
        "python": [sys.executable],
        "ruff": [str(Path(sys.executable).with_name("ruff"))],
        "TORCH": [str(_torch() / folder) for folder in FOLDERS],
        "ALL_TORCH": [str(_torch())],
        "FILE": [__file__],
    }
    arguments = [part for word in shlex.split(command) for part in words.get(word, [word])]
    environment = {**os.environ, "ASHORE_CACHE_DIR": _cache(), "RUFF_CACHE_DIR": _cache()}
    environment["RAYON_NUM_THREADS"] = "1"
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode

    def sample() -> float:
        start = perf_counter()
        done = subprocess.run(arguments, env=environment, capture_output=True)
        seconds = perf_counter() - start
        if done.returncode not in (0, 1):  # 1: it has found something
            sys.exit(f"bench: {command}: {done.stderr.decode(errors='replace')[-300:]}")
        return seconds

    return sample


def _torch() -> Path:
    spec = find_spec("torch")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _lines(folders: list[Path]) -> int:
    files = [path for folder in folders for path in folder.rglob("*.py")]
    return sum(path.read_bytes().count(b"\n") for path in files)


@cache
def _cache() -> str:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return folder.name
