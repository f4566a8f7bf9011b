"""The compiled emulator for tests that need it: compiled once into the user's own cache."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "ashore"


@functools.cache
def need_emulator() -> None:
    """Compile the emulator unless it is there; skip without PyTorch or the simulated driver."""
    pytest.importorskip("torch", reason="the emulated GPU is PyTorch's")
    if not (PACKAGE / "libashore_sim.so").exists():
        pytest.skip("the simulated driver is not built (python/ashore/libashore_sim.so)")
    command = [sys.executable, "-m", "ashore", "emulate", "build"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
