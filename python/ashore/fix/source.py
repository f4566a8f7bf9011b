"""A Python file as bytes and as a tree, and the way between the positions of both.

Made by check and fix for each file, used by every later stage; `notebook` makes those of notebooks.
Positions are byte offsets into
`body`, which is the text in UTF-8 without a byte-order mark, line ends as they are.
"""

from __future__ import annotations

import ast
import io
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ashore.fix.edits import Edit, Span, apply

MOST_BYTES = 5_000_000

_BOM = b"\xef\xbb\xbf"
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
_LINE_END = re.compile(rb"\r\n|\r|\n")


class Unreadable(Exception):
    """Say in one line why a file cannot be read as Python."""


class Place(NamedTuple):
    """Name a position as people count: line and column from 1, the column in characters."""

    line: int
    column: int
    cell: int = 0  # of a notebook, from 1


@dataclass(frozen=True)
class Source:
    """Hold a file's text and tree."""

    path: str
    raw: bytes
    body: bytes
    encoding: str
    tree: ast.Module

    @cached_property
    def lines(self) -> list[int]:
        """Return the offset at which each line starts, as Python counts lines."""
        return [0, *(end.end() for end in _LINE_END.finditer(self.body))]

    def offset(self, line: int, column: int) -> int:
        """Return the offset of ast's line (from 1) and column (bytes from 0)."""
        return self.lines[line - 1] + column

    def expression(self, span: Span) -> ast.expr | None:
        """Return the outermost expression that is this span, if there is one."""
        first, last = self.line_of(span.start), self.line_of(span.end)
        level: list[ast.AST] = [self.tree]
        while level:
            below: list[ast.AST] = []
            for node in level:
                for child in ast.iter_child_nodes(node):
                    line, end_line = getattr(child, "lineno", 0), getattr(child, "end_lineno", last)
                    if line > first or (end_line or last) < last:
                        continue  # elsewhere; nodes without a place are looked into
                    if isinstance(child, ast.expr) and self.span(child) == span:
                        return child
                    below.append(child)
            level = below
        return None

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """Return where a node stands."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return Span(
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    def text(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a node as it stands there."""
        start, end = self.span(node)
        return self.body[start:end].decode()

    def place(self, offset: int) -> Place:
        """Return the line and column of an offset."""
        line = self.line_of(offset)
        before = self.body[self.lines[line - 1] : offset].decode(errors="replace")
        return Place(line, len(before) + 1)

    def line_text(self, line: int) -> str:
        """Return a line without its end."""
        start = self.lines[line - 1]
        end = self.lines[line] if line < len(self.lines) else len(self.body)
        return self.body[start:end].decode(errors="replace").rstrip("\r\n")

    def body_of(self, first: int, last: int) -> bytes:
        """Return the text of lines, both included."""
        stop = self.lines[last] if last < len(self.lines) else len(self.body)
        return self.body[self.lines[first - 1] : stop]

    def line_of(self, offset: int) -> int:
        """Return the line of the body in which an offset lies."""
        return bisect_right(self.lines, offset)

    def shown_line(self, line: int) -> int:
        """Return a line of the body as people count it."""
        return self.place(self.lines[line - 1]).line if line <= len(self.lines) else line

    def file_line(self, offset: int) -> int:
        """Return the line of the file itself; it differs from `place` in a notebook."""
        return self.place(offset).line

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """Return the file's bytes with the edits made: its mark and its encoding as before."""
        body = apply(self.body, edits)
        mark = _BOM if self.raw.startswith(_BOM) else b""
        return mark + (body if self.encoding == "utf-8" else body.decode().encode(self.encoding))


def read_source(path: str, raw: bytes) -> Source:
    """Parse a file's bytes; raise Unreadable, whatever is wrong with them."""
    if path.endswith(".ipynb"):
        from ashore.fix.notebook import read_notebook

        return read_notebook(path, raw)
    if len(raw) > MOST_BYTES:
        raise Unreadable(f"{len(raw)} bytes are more than the {MOST_BYTES} that are read")
    if b"\0" in raw:
        raise Unreadable("binary, not Python")
    body, encoding = _decode(raw)
    return Source(path, raw, body, encoding, parse(body))


def parse(body: bytes) -> ast.Module:
    """Parse a body; raise Unreadable where it is no Python of this version."""
    try:
        return ast.parse(body.decode())
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        raise Unreadable(f"{where}{error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(f"too deep or too odd to parse: {type(error).__name__}") from error


def _decode(raw: bytes) -> tuple[bytes, str]:
    body = raw.removeprefix(_BOM)
    head = b"\n".join(_LINE_END.split(body[:1000], maxsplit=2)[:2])
    encoding = "utf-8"
    if _CODING.search(head) is not None:
        import tokenize  # takes milliseconds, and is seldom needed

        try:
            encoding = tokenize.detect_encoding(io.BytesIO(raw).readline)[0]
        except (SyntaxError, LookupError) as error:
            raise Unreadable(str(error)) from error
        encoding = "utf-8" if encoding == "utf-8-sig" else encoding
    try:
        text = body.decode(encoding)
        if encoding == "utf-8":
            return body, encoding
        if text.encode(encoding) != body:
            raise Unreadable(f"its encoding {encoding} does not survive a round trip")
        return text.encode(), encoding
    except (UnicodeError, LookupError) as error:
        raise Unreadable(f"not {encoding}: {error}") from error
