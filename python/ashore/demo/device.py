"""Choose the demo's device and put its failures into one line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ashore import emulate
from ashore.cli.errors import CannotRun
from ashore.cli.text import escape

_EMULATED = "this GPU is emulated: real values, PyTorch's own errors, the speed of the CPU"

# AcceleratorError came with PyTorch 2.8.
_FAILURES = (
    torch.cuda.OutOfMemoryError,
    getattr(torch, "AcceleratorError", torch.cuda.OutOfMemoryError),
)


def pick_device(no_emulation: str = "") -> tuple[torch.device, str, str]:
    """Return the device, its name for people, and a remark if it is no real GPU (else "").

    `no_emulation` says why there is no emulated one either.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        usable = torch.cuda.is_available()
    if usable:
        device = torch.device("cuda", torch.cuda.current_device())
        # In so small a model threads only wait for each other, for many seconds on a busy machine.
        if emulate.is_running():
            torch.set_num_threads(1)
        return device, torch.cuda.get_device_name(device), _EMULATED * emulate.is_running()
    note = "no CUDA device here: running on the CPU"
    if no_emulation:
        note += f" ({escape(no_emulation)})"
    elif caught:  # PyTorch's own reason, such as a driver that is too old
        reason = escape(" ".join(str(caught[0].message).split()))
        note += f" ({reason.split(' (Triggered', 1)[0]})"
    torch.set_num_threads(1)
    return torch.device("cpu"), "CPU", note


@contextmanager
def device_failures(device: torch.device) -> Iterator[None]:
    """Turn what a CUDA device may refuse (memory full, no kernel for it) into CannotRun."""
    try:
        yield
    except _FAILURES as error:
        reason = str(error).strip().split("\n", 1)[0]
        raise CannotRun(f"{device} failed: {reason}") from error
