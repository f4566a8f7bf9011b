"""Tell what a program did with its emulated GPU when it ends: `ashore run --report`."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import Any


def promise_report(where: str) -> None:
    """Write a report when this process ends: to a file, as JSON, or for "-" to standard error."""
    atexit.register(_write, where, os.getpid())


def _write(where: str, process: int) -> None:
    if os.getpid() != process:  # a child that runs its parent's exit functions
        return
    from ashore import emulate

    try:
        if where == "-":
            text = emulate.report() if emulate.is_running() else "torch was not imported"
            print(f"ashore: the emulated GPU\n{text}", file=sys.stderr, flush=True)
            return
        import json

        from ashore._atomic import atomic_file

        with atomic_file(where) as file:
            file.write(json.dumps(_facts(), indent=2).encode() + b"\n")
    except OSError as error:
        with suppress(OSError, AttributeError):
            print(f"ashore: the report cannot be written: {error}", file=sys.stderr)


def _facts() -> dict[str, Any]:
    """Return the statistics as JSON has them; without torch there are no devices."""
    from ashore import emulate

    if not emulate.is_running():
        return {"devices": [], "waits": []}
    facts = emulate.statistics()._asdict()
    for name in ("devices", "waits"):
        facts[name] = [row._asdict() for row in facts[name]]
    return facts
