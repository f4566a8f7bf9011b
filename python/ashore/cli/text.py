"""How text reaches a terminal: escaping, colours, the width of help; used by all commands."""

from __future__ import annotations

import os
import sys
from typing import TextIO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def escape(text: str) -> str:
    r"""Return text from files or users with unprintable characters as \x.. escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def is_live(stream: TextIO | None) -> bool:
    """Tell whether the stream is a terminal that can move its cursor."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # closed
        return False


def paint(text: str, style: str, stream: TextIO | None = None) -> str:
    """Return text in a style named above where the stream (standard output) shows colours."""
    if os.environ.get("NO_COLOR") or not is_live(sys.stdout if stream is None else stream):
        return text
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def help_width() -> int:
    """Return the columns that help may fill: the terminal's, between 50 and 100."""
    # click would ask shutil, whose import (bz2, lzma) costs more than all of our own modules.
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        width = int(columns)
    else:
        try:
            width = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
        except (OSError, ValueError, AttributeError):
            width = 80
    return max(50, min(width, 100) - 2)
