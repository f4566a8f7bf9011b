"""Choose the demo's device and put its failures into one line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ashore.cli.errors import CannotRun
from ashore.cli.text import escape


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
    return torch.device("cpu"), "CPU", note


@contextmanager
def device_failures(device: torch.device) -> Iterator[None]:
    """Turn what a CUDA device may refuse (memory full, no kernel for it) into CannotRun."""
    try:
        yield
    except (torch.OutOfMemoryError, torch.AcceleratorError) as error:
        reason = str(error).strip().split("\n", 1)[0]
        raise CannotRun(f"{device} failed: {reason}") from error
