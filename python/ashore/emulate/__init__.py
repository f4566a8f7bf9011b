"""An emulated CUDA device inside an unmodified PyTorch, for machines without a GPU.

    import ashore.emulate

    ashore.emulate.start(devices=2, memory="8GiB")
    import torch

    torch.ones(3, device="cuda:1")

The device has real values and PyTorch's own errors; its kernels are those of the CPU. It must be
started before torch is imported. Importing this module loads nothing but itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ashore.emulate._build_error import CannotEmulate
from ashore.emulate._options import Options
from ashore.emulate._unfinished_copy import UnfinishedCopy

if TYPE_CHECKING:
    from ashore.emulate._statistics import Statistics

__all__ = [
    "CannotEmulate",
    "Options",
    "UnfinishedCopy",
    "is_running",
    "options",
    "report",
    "start",
    "statistics",
    "watch_lines",
]


def start(
    devices: int = 1,
    memory: str | int = "8GiB",
    *,
    late_copies: bool = True,
    strict_sync: bool = False,
    name: str | None = None,
    poison: Literal["bytes", "old"] = "bytes",
) -> None:
    """Give this process emulated CUDA devices; call it before torch is imported.

    `memory` is each device's: a number of bytes, or a size such as "512MiB". With `late_copies` a
    non_blocking copy to the host arrives at the wait that orders it and not before; until then the
    destination holds poison: 0xFF in every byte, or with `poison="old"` what it held before.
    With `strict_sync`, touching memory of a copy too early raises UnfinishedCopy. `name` is what
    `torch.cuda.get_device_name()` answers.

    A second call with the same arguments does nothing. The machine's own GPU is hidden from this
    process and its children. Raises ValueError for a bad argument, and CannotEmulate, one line,
    where the emulated GPU cannot be had.
    """
    from ashore.emulate._arguments import check_arguments
    from ashore.emulate._loader import start_device

    chosen = check_arguments(devices, memory, late_copies, strict_sync, name, poison)
    try:
        start_device(*chosen)
    except CannotEmulate as error:  # its line says all; how we got there is no news to the program
        raise error.with_traceback(None) from None


def is_running() -> bool:
    """Say whether this process has emulated devices."""
    return options() is not None


def options() -> Options | None:
    """Return what the devices were started with, None where none were."""
    from ashore.emulate._loader import running_options

    return running_options()


def watch_lines() -> None:
    """Remember from now on which lines of the program wait for the device, for `statistics`.

    Costs about a microsecond for each copy and each wait. Takes effect when torch is imported if it
    is not yet.
    """
    from ashore.emulate._loader import request_lines

    request_lines()


def statistics() -> Statistics:
    """Return what was copied, waited for and allocated since the start."""
    from ashore.emulate._statistics import collect

    return collect()


def report() -> str:
    """Return `statistics` as text, a few lines."""
    from ashore.emulate._statistics import collect, describe

    return describe(collect())


def __getattr__(attribute: str) -> Any:
    if attribute == "Statistics":
        from ashore.emulate._statistics import Statistics

        return Statistics
    raise AttributeError(f"module {__name__!r} has no attribute {attribute!r}")
