"""The compiled emulator for tests that need it: compiled once into the user's own cache."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import ashore
import pytest

SIMULATOR = Path(
    os.environ.get("ASHORE_SIMULATOR_LIB") or Path(ashore.__file__).parent / "libashore_sim.so"
)


@functools.cache
def need_emulator() -> None:
    """Compile the emulator unless it is there; skip without PyTorch or the simulated driver."""
    pytest.importorskip("torch", reason="the emulated GPU is PyTorch's")
    if not SIMULATOR.exists():
        pytest.skip(f"the simulated driver is not built ({SIMULATOR})")
    command = [sys.executable, "-m", "ashore", "emulate", "build"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
