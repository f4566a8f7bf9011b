"""Give the demo an emulated GPU where the machine has none; before torch is imported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from ashore import emulate

# Where a driver of NVIDIA's shows itself: Linux, and Linux inside Windows.
_DEVICE_NODES = ("/dev/nvidiactl", "/dev/dxg")


def emulate_where_none(say: Callable[[str], None]) -> str:
    """Start an emulated GPU unless there is a real one; return why there is none, or ""."""
    if "torch" in sys.modules or emulate.is_running() or _has_gpu():
        return ""
    say("no GPU here: starting an emulated one")
    try:
        emulate.start()
    except emulate.CannotEmulate as error:
        return str(error)
    return ""


def _has_gpu() -> bool:
    """Tell, without importing torch, whether it may find a GPU: a CUDA build, and a driver."""
    from ashore.emulate._torch_info import find_torch

    try:
        root = find_torch()
    except emulate.CannotEmulate:
        return False
    is_cuda_build = (root / "lib" / "libtorch_cuda.so").exists()
    return is_cuda_build and any(Path(node).exists() for node in _DEVICE_NODES)
