"""Edits of a file's bytes, applied in one go; made by the planner, proven by `proof`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple


class Span(NamedTuple):
    """Name a stretch of a file's body by byte offsets."""

    start: int
    end: int


class Side(IntEnum):
    """Say at which side of its expression an edit stands; ends come before starts."""

    END = 0
    START = 1


class Edit(NamedTuple):
    """Put `text` in the place of `length` bytes at an offset; `owner` is what it is for."""

    offset: int
    length: int
    text: str
    side: Side
    owner: Span


class Refused(Exception):
    """Say why edits that were planned are not made: a bug of ours, never of the file's."""


def in_order(edits: Iterable[Edit]) -> list[Edit]:
    """Return edits as they stand in the text: inner ends first, then outer starts."""

    def key(edit: Edit) -> tuple[int, int, int]:
        size = edit.owner.end - edit.owner.start
        return edit.offset, edit.side, size if edit.side is Side.END else -size

    return sorted(edits, key=key)


def apply(body: bytes, edits: Sequence[Edit]) -> bytes:
    """Return the body with all edits made."""
    parts: list[bytes] = []
    at = 0
    for edit in in_order(edits):
        if edit.offset < at:
            raise Refused(f"two edits overlap at byte {edit.offset}")
        parts += [body[at : edit.offset], edit.text.encode()]
        at = edit.offset + edit.length
    parts.append(body[at:])
    return b"".join(parts)
