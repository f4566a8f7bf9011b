"""Explain an error where it happened: under the traceback of `ashore run`, and in notebooks."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from types import TracebackType
from typing import Any

_MOST_CHARACTERS = 400_000


def explain_error(error: BaseException) -> None:
    """Print on standard error what is known of an error; never raise, never print a second one."""
    with suppress(Exception):
        if text := explanation_of(error):
            print(f"\nashore: {text}", file=sys.stderr, flush=True)


def explanation_of(error: BaseException) -> str:
    """Return the explanation of an error, or nothing if none is known."""
    from ashore.cli.text import paint
    from ashore.explain.describe import as_text
    from ashore.explain.explanation import explain

    text = "".join(traceback.format_exception(error))
    found = explain(text[-_MOST_CHARACTERS:], os.getcwd())
    return as_text(found[-1], lambda part, style: paint(part, style, sys.stderr)) if found else ""


def load(shell: Any) -> None:
    """Explain the errors of an IPython shell's cells from now on."""
    shell.set_custom_exc((Exception,), _show)


def unload(shell: Any) -> None:
    """Leave the errors of the shell's cells alone again."""
    shell.set_custom_exc((), None)


def _show(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)
    explain_error(error)
