"""Tables of what libraries do with tensors, read once from the data files beside this one.

Used by infer (what comes out of a call) and by the rules (what a call does with a tensor).
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path


class Table:
    """Hold one data file: each entry as a set of words, or as a pattern."""

    def __init__(self, name: str) -> None:
        """Read the file of that name."""
        self._entries = tomllib.loads(
            (Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8")
        )

    def words(self, entry: str) -> frozenset[str]:
        """Return the words of an entry."""
        return frozenset(self._entries[entry].split())

    def pattern(self, entry: str) -> re.Pattern[str]:
        """Return an entry as a pattern that ignores case."""
        return re.compile(self._entries[entry], re.IGNORECASE)


@cache
def table(name: str) -> Table:
    """Return the table of `torch`, `numpy` or `libraries`."""
    return Table(name)
