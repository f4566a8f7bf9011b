"""Jupyter notebooks: their code cells as one program, and edits put back into the JSON.

Lines of IPython (`%magic`, `!shell`, `?help`) become comments of the same length, so positions
stay. Everything of the file outside the edits stays as it is, byte by byte.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import JSONDecoder
from typing import Any, NamedTuple

from ashore.fix.edits import Edit, Refused, in_order
from ashore.fix.source import MOST_BYTES, Place, Source, Unreadable, parse

_JSON = JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[-+.\w]+")
_CHARACTER = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)
_MAGIC = re.compile(
    r"^([ \t]*)((?:[%!?]|[\w., \t]+=[ \t]*[%!]).*|[\w.]+\?{1,2}[ \t]*$)", re.MULTILINE
)
_HARMLESS_CELL_MAGICS = ("time", "timeit", "capture", "prun")


class Literal(NamedTuple):
    """Hold a JSON string: its characters, and where they stand between the quotes."""

    value: str
    start: int
    end: int


@dataclass(frozen=True)
class Piece:
    """Hold one string of a cell's source and where it begins in the program."""

    offset: int  # in characters of the program
    literal: Literal
    cell: int


@dataclass(frozen=True)
class Notebook(Source):
    """Hold a notebook as a program."""

    json: str
    pieces: tuple[Piece, ...]

    @cached_property
    def _cell_lines(self) -> list[tuple[int, int]]:
        """Return for each cell the program's line at which it begins, and its number."""
        starts: dict[int, int] = {}
        body = self.body.decode()
        for piece in self.pieces:
            if piece.cell not in starts:
                starts[piece.cell] = body.count("\n", 0, piece.offset) + 1
        return [(line, cell) for cell, line in starts.items()]

    def place(self, offset: int) -> Place:
        """Return cell, line in the cell, and column of an offset."""
        line, column, _ = super().place(offset)
        at = bisect_right(self._cell_lines, (line, 1 << 30)) - 1
        first, cell = self._cell_lines[max(at, 0)] if self._cell_lines else (1, 1)
        return Place(line - first + 1, column, cell)

    def file_line(self, offset: int) -> int:
        """Return the line of the JSON in which an offset's text stands."""
        piece, _ = self._find(offset)
        return self.json.count("\n", 0, piece.literal.start) + 1

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """Return the file's bytes with the edits made inside its strings."""
        parts: list[str] = []
        at = 0
        for edit in in_order(edits):
            start = self._raw_offset(edit.offset)
            end = self._raw_offset(edit.offset + edit.length) if edit.length else start
            last, _ = self._find(edit.offset + edit.length)
            if edit.length and last is not self._find(edit.offset)[0]:
                raise Refused("a repair would join lines of a notebook's cell")
            parts += [self.json[at:start], _escaped(edit.text)]
            at = end
        parts.append(self.json[at:])
        return "".join(parts).encode()

    def _find(self, offset: int) -> tuple[Piece, int]:
        """Return the piece in which an offset lies and the character's place in it."""
        place = len(self.body[:offset].decode())
        at = bisect_right([piece.offset for piece in self.pieces], place) - 1
        piece = self.pieces[max(at, 0)]
        return piece, place - piece.offset

    def _raw_offset(self, offset: int) -> int:
        piece, place = self._find(offset)
        raw = self.json[piece.literal.start : piece.literal.end]
        at = 0
        for _ in range(place):
            at = _next_character(raw, at)
        return piece.literal.start + at


def _next_character(raw: str, at: int) -> int:
    match = _CHARACTER.match(raw, at)
    assert match is not None
    end = match.end()
    if match[0][:2] == "\\u" and "d800" <= match[0][2:].lower() <= "dbff":
        low = _CHARACTER.match(raw, end)
        if low is not None and low[0][:2] == "\\u" and "dc00" <= low[0][2:].lower() <= "dfff":
            end = low.end()
    return end


def _escaped(text: str) -> str:
    import json

    return json.dumps(text)[1:-1]


def read_notebook(path: str, raw: bytes) -> Notebook:
    """Read a notebook's code cells; raise Unreadable, whatever is wrong with it."""
    if len(raw) > 10 * MOST_BYTES:  # pictures are in it
        raise Unreadable(f"{len(raw)} bytes are more than the {10 * MOST_BYTES} that are read")
    try:
        text = raw.decode()
        tree = _value(text, _skip(text, 1 if text.startswith("\ufeff") else 0))[0]
        cells = list(_code_cells(tree))
    except (ValueError, LookupError, RecursionError, AttributeError, TypeError) as error:
        raise Unreadable("not a notebook that can be read") from error
    pieces: list[Piece] = []
    program = ""
    for number, literals in cells:
        code = ""
        for literal in literals:
            pieces.append(Piece(len(program) + len(code), literal, number))
            code += literal.value
        program += _readable(code) + "\n"
    body = program.encode(errors="surrogatepass")
    return Notebook(path, raw, body, "utf-8", parse(body), text, tuple(pieces))


def _readable(code: str) -> str:
    """Return a cell with what only IPython understands as comments; blank if that is not enough."""
    first = re.match(r"\s*%%(\w+)", code)
    if first is not None and first[1] not in _HARMLESS_CELL_MAGICS:
        return re.sub(r"[^\n]", " ", code)
    for masked in (code, _MAGIC.sub(_comment, code)):
        try:
            parse(masked.encode())
        except (Unreadable, UnicodeError):
            continue
        return masked
    return re.sub(r"[^\n]", " ", code)


def _comment(match: re.Match[str]) -> str:
    indent, rest = match[1], match[2]
    return indent + ("0#" + rest[2:] if len(rest) > 1 else "0")


def _code_cells(tree: Any) -> Iterator[tuple[int, list[Literal]]]:
    cells = tree.get("cells")
    if cells is None:  # format 3
        cells = [cell for sheet in tree["worksheets"] for cell in sheet["cells"]]
    for number, cell in enumerate(cells, 1):
        kind = cell.get("cell_type")
        source = cell.get("source", cell.get("input"))
        if kind is not None and kind.value == "code" and source:
            yield number, [source] if isinstance(source, Literal) else list(source)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _value(text: str, at: int) -> tuple[Any, int]:
    """Return a JSON value and where it ends; strings as literals, other scalars as None."""
    opening = text[at]
    if opening == '"':
        value, end = _JSON.raw_decode(text, at)
        return Literal(value, at + 1, end - 1), end
    if opening == "{":
        members: dict[str, Any] = {}
        at = _skip(text, at + 1)
        while text[at] != "}":
            key, at = _value(text, at)
            at = _skip(text, at)
            if text[at] != ":":
                raise ValueError
            members[key.value], at = _value(text, _skip(text, at + 1))
            at = _comma(text, at, "}")
        return members, at + 1
    if opening == "[":
        elements: list[Any] = []
        at = _skip(text, at + 1)
        while text[at] != "]":
            element, at = _value(text, at)
            elements.append(element)
            at = _comma(text, at, "]")
        return elements, at + 1
    match = _SCALAR.match(text, at)
    if match is None:
        raise ValueError
    return None, match.end()


def _comma(text: str, at: int, closing: str) -> int:
    at = _skip(text, at)
    if text[at] == ",":
        return _skip(text, at + 1)
    if text[at] != closing:
        raise ValueError
    return at
