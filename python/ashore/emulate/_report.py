"""Tell what a program did with its emulated GPU when it ends: `ashore run --report`."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

# What writing takes. Importing these at exit would evaluate code (namedtuple does), after which
# Python forgets that an interrupt ended the program, and leaves with 1 instead of by the signal.
_NEEDED = ("json", "ashore._atomic", "ashore.emulate._loader", "ashore.emulate._statistics")


def promise_report(where: str) -> None:
    """Write a report when this process ends: to a file, as JSON, or for "-" to standard error."""
    for name in _NEEDED:
        import_module(name)
    atexit.register(_write, where, os.getpid())


def refuse_unwritable(path: str) -> None:
    """Raise OSError if no report can be written there; what is there stays as it is."""
    from ashore._atomic import atomic_file

    class _Enough(Exception):
        pass

    with suppress(_Enough), atomic_file(path):
        raise _Enough


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
            reason = error.strerror or str(error)  # its file has a name of ours
            print(f"ashore: the report cannot be written to {where}: {reason}", file=sys.stderr)


def _facts() -> dict[str, Any]:
    """Return the statistics as JSON has them; without torch there are no devices."""
    from ashore import emulate

    if not emulate.is_running():
        return {"devices": [], "waits": []}
    facts = emulate.statistics()._asdict()
    for name in ("devices", "waits"):
        facts[name] = [row._asdict() for row in facts[name]]
    return facts
