"""What a program did with its emulated GPU, told when it ends: `ashore run --report`."""

from __future__ import annotations

import atexit
import os
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import Any

_MOST_LINES = 10
_SURFACE = "_ashore_cuda"
_KINDS = {
    "host_to_device": "to the device",
    "device_to_host": "to the host",
    "device_to_device": "on devices",
}


def promise_report(where: str) -> None:
    """Write a report when this process ends: to a file, as JSON, or for "-" to standard error."""
    atexit.register(_write, where, os.getpid())


def watch() -> None:
    """Note from now on which lines of the program make it wait; called once the GPU is there."""
    surface = sys.modules.get(_SURFACE)
    if surface is not None:
        surface.watch_lines(_not_the_program())


def _not_the_program() -> tuple[str, ...]:
    """Return the folders whose code is not the user's own: libraries, and ashore."""
    paths = sysconfig.get_paths()
    ours = str(Path(__file__).resolve().parents[1])
    folders = {paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"], ours}
    return tuple(sorted(f"{folder}{os.sep}" for folder in folders))


def _write(where: str, process: int) -> None:
    if os.getpid() != process:  # a child that ran the parent's exit functions
        return
    try:
        facts = collect()
        if where == "-":
            print(as_text(facts), file=sys.stderr, flush=True)
            return
        import json

        from ashore._atomic import atomic_file

        with atomic_file(where) as file:
            file.write(json.dumps(facts, indent=2).encode() + b"\n")
    except OSError as error:
        with suppress(OSError, AttributeError):
            print(f"ashore: the report cannot be written: {error}", file=sys.stderr)


def collect() -> dict[str, Any]:
    """Return all that is known of this process's emulated GPU."""
    surface: Any = sys.modules.get(_SURFACE)
    torch: Any = sys.modules.get("torch")
    if surface is None or torch is None:
        return {"devices": [], "copies": {}, "synchronizations": 0, "waits": []}
    counts = surface.statistics()
    return {
        "devices": [_device(torch, index) for index in range(torch.cuda.device_count())],
        "copies": {
            kind: {
                "count": counts.get(f"{kind}_copies", 0),
                "bytes": counts.get(f"{kind}_bytes", 0),
            }
            for kind in _KINDS
        },
        "synchronizations": counts.get("synchronizations", 0),
        "waits": [
            {"what": what, "file": file or None, "line": line or None, "count": count}
            for what, file, line, count in sorted(surface.list_waits(), key=_rank)
        ],
    }


def _rank(wait: tuple[str, str, int, int]) -> tuple[int, str, int, str]:
    what, file, line, count = wait
    return -count, file, line, what


def _device(torch: Any, index: int) -> dict[str, Any]:
    used = torch.cuda.is_initialized()
    stats = torch.cuda.memory_stats(index) if used else {}
    properties = torch.cuda.get_device_properties(index) if used else None
    return {
        "device": f"cuda:{index}",
        "total_bytes": properties.total_memory if properties else None,
        "peak_allocated_bytes": stats.get("allocated_bytes.all.peak", 0),
        "peak_reserved_bytes": stats.get("reserved_bytes.all.peak", 0),
    }


def as_text(facts: dict[str, Any]) -> str:
    """Return the report for people."""
    from ashore.cli.text import escape

    lines = ["ashore: what the program did with the emulated GPU"]
    if not facts["devices"]:
        return f"{lines[0]}: nothing, torch was not imported"
    for device in facts["devices"]:
        total = device["total_bytes"]
        of = f" of {_size(total)}" if total else ""
        lines.append(
            f"  {device['device']:8} peak {_size(device['peak_allocated_bytes'])} allocated, "
            f"{_size(device['peak_reserved_bytes'])} reserved{of}"
        )
    copies = [
        f"{facts['copies'][kind]['count']} {title} ({_size(facts['copies'][kind]['bytes'])})"
        for kind, title in _KINDS.items()
    ]
    lines.append(f"  {'copies':8} {', '.join(copies)}")
    lines.append(f"  {'waits':8} {facts['synchronizations']} of the host for the device")
    for wait in facts["waits"][:_MOST_LINES]:
        where = f"{_short(wait['file'])}:{wait['line']}" if wait["file"] else "no line of yours"
        lines.append(f"  {wait['count']:8} {escape(where)}  {escape(wait['what'])}")
    more = len(facts["waits"]) - _MOST_LINES
    if more > 0:
        lines.append(f"  {'':8} and {more} more lines")
    return "\n".join(lines)


def _short(file: str) -> str:
    with suppress(ValueError, OSError):
        return str(Path(file).relative_to(Path.cwd()))
    return file


def _size(count: int) -> str:
    power = min(4, max(0, count.bit_length() - 1) // 10)
    size = count / 1024**power
    number = f"{size:.0f}" if size == int(size) else f"{size:.1f}"
    return f"{number} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"
