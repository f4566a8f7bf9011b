"""What a repair changes, as a unified diff."""

from __future__ import annotations

import difflib

from ashore.cli.text import escape, paint
from ashore.fix.write import Fixed

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def unified(fixed: Fixed) -> str:
    """Return the diff of one file, with unprintable characters escaped."""
    lines = difflib.unified_diff(
        _lines(fixed.before), _lines(fixed.after), fixed.path, fixed.path, lineterm=""
    )
    return "".join(f"{_painted(line)}\n" for line in lines)


def _lines(content: bytes) -> list[str]:
    text = content.decode(errors="backslashreplace").replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n")


def _painted(line: str) -> str:
    text = escape(line.replace("\t", "    "))
    style = _STYLES.get(line[:1])
    return paint(text, style) if style is not None else text
