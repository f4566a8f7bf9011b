"""Text for messages, which are one line each (contract E1)."""

from __future__ import annotations

from typing import Any


def one_line(text: object) -> str:
    """Return the text with line breaks and other white space made single spaces."""
    return " ".join(str(text).split())


def class_name(kind: type[Any]) -> str:
    """Return the module-qualified name of a class."""
    return one_line(f"{kind.__module__}.{kind.__qualname__}")
