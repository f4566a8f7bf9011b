"""What is read out of a traceback's text: frames and failures; made by `read`, used by all here."""

from __future__ import annotations

from typing import NamedTuple


class Marks(NamedTuple):
    """Say which part of a frame's source is underlined: rows from 0, columns, the end exclusive.

    Where indentation was lost only the length is known, and `start` is None.
    """

    start: tuple[int, int] | None
    end: tuple[int, int] | None
    length: int


class Frame(NamedTuple):
    """One call: where it is, its line or lines of source without indentation, what is marked."""

    file: str
    line: int | None
    function: str = ""
    source: str = ""
    marks: Marks | None = None
    around: tuple[tuple[int, str], ...] = ()  # numbered lines, where the text shows more of them


class Failure(NamedTuple):
    """One exception: its frames, the outermost first, and what it says."""

    frames: tuple[Frame, ...]
    error: str
    message: str
    link: str = ""  # to the failure before it in the text: "cause", "context" or none
    rank: str = ""
