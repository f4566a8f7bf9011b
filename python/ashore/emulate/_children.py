"""How a process that is started later gets the emulated GPU: through its environment, which lets
Python run our sitecustomize; used by `ashore run`, `ashore emulate env` and the pytest plugin."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ashore.emulate._build_error import CannotEmulate
from ashore.emulate._options import Options, read_options

EMULATE = "ASHORE_EMULATE"
REPORT = "ASHORE_EMULATE_REPORT"
EXPLAIN = "ASHORE_EXPLAIN"  # "0" for programs whose errors are to stay unexplained
REASONS = (CannotEmulate, ImportError, OSError, RuntimeError, ValueError)
HOOK_FOLDER = Path(__file__).parent / "sitecustomize"


def with_emulation(
    environment: Mapping[str, str], options: Options, report: str | None = None
) -> dict[str, str]:
    """Return the environment of a process that emulates.

    `report` says where the process that has the caller's number (it is replaced by it) writes its
    report: a file, or "-" for standard error.
    """
    changed = without_emulation(environment)
    changed[EMULATE] = str(options)
    if report is not None:
        changed[REPORT] = f"{os.getpid()}:{report}"
    paths = changed.get("PYTHONPATH")
    changed["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HOOK_FOLDER), paths]))
    return changed


def without_emulation(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that does not emulate."""
    changed = {k: v for k, v in environment.items() if k not in (EMULATE, REPORT)}
    if "PYTHONPATH" in changed:
        paths = changed["PYTHONPATH"].split(os.pathsep)
        changed["PYTHONPATH"] = os.pathsep.join(p for p in paths if p != str(HOOK_FOLDER))
        if not changed["PYTHONPATH"]:
            del changed["PYTHONPATH"]
    return changed


def remove_hook() -> None:
    """Take our finder off sys.meta_path: whoever calls this starts the emulated GPU at once."""
    for finder in [f for f in sys.meta_path if getattr(f, "ashore_hook", False)]:
        sys.meta_path.remove(finder)


def is_started() -> bool:
    """Tell whether this process has an emulated GPU."""
    module = sys.modules.get("ashore.emulate")
    return module is not None and bool(module.is_running())


def start(options: Options) -> None:
    """Start the emulated GPU in this process, unless that was done; raises one of REASONS."""
    if is_started():
        return
    from ashore import emulate

    emulate.start(**options.arguments())
    if REPORT in os.environ:
        emulate.watch_lines()


def start_here() -> None:
    """Start the emulated GPU in this process as the environment says.

    Where that cannot be, say so in one line and leave with exit code 2: the program would see no
    GPU and do something that its user did not ask for.
    """
    try:
        start(read_options(os.environ.get(EMULATE, "1")))
    except REASONS as error:
        from ashore.cli.text import escape

        if sys.stderr is not None:
            text = escape(" ".join(str(error).split()))
            print(f"ashore: {text}", file=sys.stderr, flush=True)
        raise SystemExit(2) from None
