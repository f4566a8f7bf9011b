"""The statement that a frame stands at, as a tree whose positions are those of its text.

It comes from the file if that may be read and still has this line, else from the lines that the
traceback shows, completed where they are only part of a statement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ashore.explain.frames import Frame, Marks
from ashore.explain.source import Folder

Position = tuple[int, int]

_SUITES = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.FunctionDef,
           ast.AsyncFunctionDef, ast.ClassDef, ast.Try, ast.Match, ast.ExceptHandler)  # fmt: skip
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


class Statement:
    """A statement, its lines, and where in it the frame's line is."""

    def __init__(
        self, tree: ast.AST, lines: list[str], row: int, shift: int = 0, added: str = ""
    ) -> None:
        """Take lines that are numbered from 1 in the tree; `row` (from 0) is the frame's.

        `added` stands at the end of the last line, where the text was cut off.
        """
        self.tree = tree
        self.lines = lines
        self.row = row
        self.added = added
        self.shift = shift  # columns by which the frame's source is shorter on the left
        self.module: ast.Module | None = None  # the whole file, where it could be read

    def text(self, node: ast.AST) -> str:
        """Return the source of a node in one line."""
        (row, begin), (last, end) = self.span(node)
        parts = [self.lines[n] for n in range(row, last + 1)]
        parts[-1] = parts[-1][:end]
        parts[0] = parts[0][begin:]
        return " ".join(part.strip() for part in parts)

    def span(self, node: ast.AST) -> tuple[Position, Position]:
        """Return the rows (from 0) and columns (of characters) of a node, the end exclusive."""
        first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
        return (
            (first, self._column(first, node.col_offset)),  # type: ignore[attr-defined]
            (last, self._column(last, node.end_col_offset)),  # type: ignore[attr-defined]
        )

    def _column(self, row: int, offset: int) -> int:
        line = self.lines[row]
        return offset if line.isascii() else len(line.encode()[:offset].decode(errors="replace"))

    def edited(self, edits: list[tuple[ast.AST, str]]) -> str:
        """Return the line or lines that change, with nodes replaced by texts."""
        lines = list(self.lines)
        rows: set[int] = set() if edits else {self.row}
        for node, text in sorted(edits, key=lambda edit: self.span(edit[0]), reverse=True):
            (row, begin), (last, end) = self.span(node)
            before, kept, after = text.partition(self.text(node))
            if kept:  # what stays keeps its lines
                lines[last] = lines[last][:end] + after + lines[last][end:]
                lines[row] = lines[row][:begin] + before + lines[row][begin:]
                rows |= {row} if before else set()
                rows |= {last} if after or not before else set()
            else:
                lines[row : last + 1] = [
                    lines[row][:begin] + text + lines[last][end:],
                    *[""] * (last - row),
                ]
                rows.add(row)
        changed = dedented("\n".join(lines[row] for row in sorted(rows)))
        return changed.removesuffix(self.added) if self.added else changed

    def nodes(self) -> Iterator[ast.AST]:
        """Yield the nodes of the statement, without the bodies of compound ones."""
        yield from _walk(self.tree, top=True)


def dedented(text: str) -> str:
    """Return lines without the indentation that all of them have."""
    lines = text.split("\n")
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    cut = min(indents, default=0)
    return "\n".join(line[cut:] for line in lines)


def _walk(node: ast.AST, top: bool = False) -> Iterator[ast.AST]:
    yield node
    for name, value in ast.iter_fields(node):
        if (
            top
            and isinstance(node, _SUITES)
            and name in {"body", "orelse", "finalbody", "handlers"}
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def statement_of(frame: Frame, folder: Folder) -> Statement | None:
    """Return the statement of the frame, or None where there is no text that can be read."""
    from_file = _from_file(frame, folder)
    if from_file is not None:
        return from_file
    if frame.around and frame.line is not None:
        grown = _from_around(frame)
        if grown is not None:
            return grown
    return _completed(frame.source) if frame.source else None


def shown_source(frame: Frame, folder: Folder) -> str:
    """Return the frame's line of source, from the file if the text has none."""
    if frame.source or frame.line is None:
        return frame.source
    lines = folder.lines(frame.file)
    return lines[frame.line - 1].strip() if lines and 0 < frame.line <= len(lines) else ""


def _from_file(frame: Frame, folder: Folder) -> Statement | None:
    lines = folder.lines(frame.file)
    if lines is None or frame.line is None or not 0 < frame.line <= len(lines):
        return None
    line = lines[frame.line - 1]
    if frame.source and frame.source.split("\n")[0].strip() != line.strip():
        return None  # the file has changed since
    try:
        module = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    inner = _innermost(module, frame.line)
    if inner is None:
        return None
    made = Statement(inner, lines, frame.line - 1, len(line) - len(line.lstrip()))
    made.module = module
    return made


def _innermost(module: ast.Module, line: int) -> ast.stmt | None:
    found: ast.stmt | None = None
    for node in ast.walk(module):
        if not isinstance(node, ast.stmt):
            continue
        reaches = node.lineno <= line <= (node.end_lineno or node.lineno)
        if reaches and (found is None or node.lineno >= found.lineno):
            found = node
    return found


def _from_around(frame: Frame) -> Statement | None:
    """Return the shortest run of the shown lines with the frame's that is a statement."""
    texts = [text for _, text in frame.around]
    at = next((i for i, (n, _) in enumerate(frame.around) if n == frame.line), None)
    if at is None:
        return None
    runs = [
        (last - first, first, last)
        for first in range(max(0, at - 12), at + 1)
        for last in range(at, min(len(texts), at + 13))
    ]
    for _, first, last in sorted(runs):
        lines = dedented("\n".join(texts[first : last + 1])).split("\n")
        tree = _parsed("\n".join(lines))
        if tree is not None and len(tree.body) == 1 and not isinstance(tree.body[0], _SUITES):
            shift = len(lines[at - first]) - len(lines[at - first].lstrip())
            return Statement(tree.body[0], lines, at - first, shift)
    return None


def _completed(source: str) -> Statement | None:
    """Return the statement that a line is, or is part of."""
    source = dedented(source).strip("\n")
    for before, text, after in _completions(source):
        tree = _parsed(f"{before}{text}{after}")
        if tree is None:
            continue
        row = before.count("\n")
        lines = f"{before}{text}{after}".split("\n")
        inner = _innermost(tree, row + 1)
        if inner is not None:
            return Statement(inner, lines, row, 0, after if "\n" not in after else "")
    return None


def _completions(source: str) -> Iterator[tuple[str, str, str]]:
    first = source.split(None, 1)[0].rstrip(":(") if source.strip() else ""
    opened, closed = _open_brackets(source)
    suite = "\n pass" if source.rstrip().endswith(":") else ""
    yield "", source, suite
    if first in {"elif"}:
        yield "if 0:\n pass\n", source, suite or ": pass"
    if first in {"else", "except", "finally"}:
        yield "try:\n pass\n" + ("except 0:\n pass\n" if first == "else" else ""), source, suite
    head = "".join(closed) + "\n" if closed else ""
    tail = "".join(reversed(opened))
    if first in {"if", "while", "for", "with", "elif", "async"} and opened:
        yield "", source, f"{tail}: pass"
        yield "", source, f" in x{tail}: pass"
    yield head, source, tail
    if opened:
        yield head, source.rstrip().rstrip(","), tail
        yield head, source, f"0{tail}"
    bare = source.rstrip().rstrip(",")
    yield f"(\n{head}", bare, f"{tail})"
    yield f"f(\n{head}", source, f"{tail})"
    yield "{\n" + head, source, tail + "}"
    yield f"[{head}0\n", bare, f"{tail}]"
    yield f"({head}0\n", bare, f"{tail})"
    yield f"(\n{head}", bare.rstrip("+-*/%@&|<>="), f"{tail})"


def _open_brackets(source: str) -> tuple[list[str], list[str]]:
    """Return the closers that are missing behind the text, innermost last, and openers before."""
    opened: list[str] = []
    closed: list[str] = []
    quote = ""
    skip = False
    for at, c in enumerate(source):
        if skip:
            skip = False
        elif quote:
            if c == "\\":
                skip = True
            elif source.startswith(quote, at):
                quote = ""
        elif c in "\"'":
            quote = c
        elif c == "#":
            break
        elif c in _CLOSERS:
            opened.append(_CLOSERS[c])
        elif c in ")]}":
            if opened:
                opened.pop()
            else:
                closed.insert(0, {v: k for k, v in _CLOSERS.items()}[c])
    return opened, closed


def _parsed(text: str) -> ast.Module | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if tree.body else None


def marked_nodes(statement: Statement, marks: Marks) -> list[ast.AST]:
    """Return the expressions that the marks cover, the outermost first."""
    nodes: list[ast.AST] = [
        node for node in statement.nodes() if isinstance(node, ast.expr | ast.stmt)
    ]
    if marks.start is None or marks.end is None:
        lengths = [(node, *statement.span(node)) for node in nodes]
        return [n for n, a, b in lengths if a[0] == b[0] and b[1] - a[1] == marks.length]
    row, shift = statement.row, statement.shift
    start = (row + marks.start[0], marks.start[1] + shift)
    end = (row + marks.end[0], marks.end[1] + shift)
    line = statement.lines[end[0]] if end[0] < len(statement.lines) else ""
    to_the_end = end[1] >= len(line.rstrip())
    found: list[ast.AST] = []
    for node in nodes:
        first, last = statement.span(node)
        if first == start and (last == end or (to_the_end and last[0] > end[0])):
            found.append(node)
    return found
