"""What the emulated devices did since the start: copies, waits and memory; read by
`ashore.emulate.statistics` and `report`."""

from __future__ import annotations

import sys
from typing import NamedTuple

from ashore.emulate._build_error import CannotEmulate
from ashore.emulate._loader import running_options, surface, visible_devices


class DeviceMemory(NamedTuple):
    """The caching allocator of one device."""

    name: str
    total_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    out_of_memory_errors: int


class Wait(NamedTuple):
    """A line of the program that made the host wait for the device, and how often."""

    what: str
    file: str
    line: int
    times: int


class Statistics(NamedTuple):
    """Counts since the start. `waits` is empty unless lines are watched."""

    devices: tuple[DeviceMemory, ...]
    host_to_device_copies: int
    host_to_device_bytes: int
    device_to_host_copies: int
    device_to_host_bytes: int
    device_to_device_copies: int
    device_to_device_bytes: int
    synchronizations: int
    peak_pinned_bytes: int
    waits: tuple[Wait, ...]


_COUNTS = Statistics._fields[1:-1]

# What the emulator calls a wait, where that is no name that a program would use.
_WORDS = {
    "cudaMemcpy": "a blocking copy (Tensor.cpu, Tensor.to, Tensor.tolist, torch.tensor)",
    "Tensor.item": "Tensor.item, or if, bool, float, print of a tensor",
    "aten::index.Tensor": "indexing by a mask or by indices",
    "aten::_index_put_impl_": "assigning by a mask or by indices",
    "aten::_unique2": "torch.unique",
}


def collect() -> Statistics:
    """Return the statistics; all are zero until torch is imported."""
    options = running_options()
    if options is None:
        raise CannotEmulate("no emulated GPU runs in this process: call ashore.emulate.start()")
    native = surface()
    counts = native.statistics() if native is not None else {}
    rows = native.list_waits() if native is not None else []
    waits = [Wait(_name_for_people(what), *where) for what, *where in rows]
    waits.sort(key=lambda wait: (-wait.times, wait))
    devices = [
        _device_memory(index, options.name, options.memory_bytes)
        for index in range(visible_devices())
    ]
    numbers = [counts.get(name, 0) for name in _COUNTS]
    return Statistics._make([tuple(devices), *numbers, tuple(waits)])


def _name_for_people(what: str) -> str:
    """Return PyTorch's public name of an operator that waited: torch.nonzero for aten::nonzero."""
    if what in _WORDS or not what.startswith("aten::"):
        return _WORDS.get(what, what)
    torch = sys.modules["torch"]
    name = what.removeprefix("aten::").partition(".")[0].lstrip("_")
    for prefix, home, public in (
        ("torch.linalg.", torch.linalg, name.removeprefix("linalg_")),
        ("torch.", torch, name),
        ("Tensor.", torch.Tensor, name),
        ("torch.nn.functional.", torch.nn.functional, name),
    ):
        if hasattr(home, public) and (home is not torch.linalg or public != name):
            return prefix + public
    return what


def _device_memory(index: int, name: str, total_bytes: int) -> DeviceMemory:
    torch = sys.modules.get("torch")
    if torch is None or surface() is None:
        return DeviceMemory(name, total_bytes, 0, 0, 0)
    stats = torch._C._cuda_memoryStats(index)
    return DeviceMemory(
        name,
        total_bytes,
        stats["allocated_bytes"]["all"]["peak"],
        stats["reserved_bytes"]["all"]["peak"],
        stats["num_ooms"],
    )


def describe(statistics: Statistics, most_lines: int = 10) -> str:
    """Return the statistics as text for people."""
    lines = []
    for index, device in enumerate(statistics.devices):
        ooms = device.out_of_memory_errors
        lines.append(
            f"cuda:{index} ({device.name}): peak {_size(device.peak_allocated_bytes)} of "
            f"{_size(device.total_bytes)}" + (f", out of memory {_times(ooms)}" if ooms else "")
        )
    for title, name in (
        ("host to device", "host_to_device"),
        ("device to host", "device_to_host"),
        ("device to device", "device_to_device"),
    ):
        count, size = (getattr(statistics, f"{name}_{unit}") for unit in ("copies", "bytes"))
        lines.append(f"copies {title}: {count} ({_size(size)})")
    lines.append(f"waits of the host for a device: {statistics.synchronizations}")
    for wait in statistics.waits[:most_lines]:
        where = f"{wait.file}:{wait.line}" if wait.file else "somewhere outside the program"
        lines.append(f"  {where}  {wait.what}, {_times(wait.times)}")
    if len(statistics.waits) > most_lines:
        lines.append(f"  … and {len(statistics.waits) - most_lines} more lines")
    return "\n".join(lines)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.2f} GiB"
