"""Choose the demo's device and put its failures into one line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ashore.cli.errors import CannotRun
from ashore.cli.text import escape

# AcceleratorError came with PyTorch 2.8.
_FAILURES = (
    torch.cuda.OutOfMemoryError,
    getattr(torch, "AcceleratorError", torch.cuda.OutOfMemoryError),
)


def pick_device() -> tuple[torch.device, str, str]:
    """Return the device, its name for people, and a remark if it is no CUDA device (else "")."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        usable = torch.cuda.is_available()
    if usable:
        device = torch.device("cuda", torch.cuda.current_device())
        return device, torch.cuda.get_device_name(device), ""
    note = "no CUDA device here: running on the CPU"
    if caught:  # PyTorch's own reason, such as a driver that is too old
        reason = escape(" ".join(str(caught[0].message).split()))
        note += f" ({reason.split(' (Triggered', 1)[0]})"
    # In so small a model threads only wait for each other, for many seconds on a busy machine.
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
