"""Read a frame as Python itself prints it, with or without marks, with or without indentation."""

from __future__ import annotations

import re

from ashore.explain.frames import Frame, Marks

_FRAME = re.compile(r'\s*File ["\'](.+?)["\'], line (\d+)(?:, in (.+?))?\s*$')
_MARKS = re.compile(r"\s*[~^][~^\s]*$")
_ERROR = re.compile(r"\s*(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt)\b(?::|\s*$)")
_OTHER = re.compile(r"\s*(?:Traceback \(most recent|The above exception was|During handling of)")
_SKIPPED = re.compile(r"\s*(?:\[Previous line repeated \d+ more times?\]|\.\.\.<\d+ lines>\.\.\.)")


def read_frame(lines: list[str], at: int) -> tuple[Frame, int] | None:
    """Return the frame whose line is at that position, and the position behind its source."""
    found = _FRAME.match(lines[at])
    if not found:
        return None
    indent = len(lines[at]) - len(lines[at].lstrip())
    kept = at + 1 < len(lines) and lines[at + 1][: indent + 2].isspace()
    begin = at + 1
    body, at = _body(lines, begin, indent + 2)
    kept = kept and all(line[: indent + 2].isspace() for line in lines[begin:at])
    return (
        Frame(found[1], int(found[2]), (found[3] or "").strip(), *_source(body, kept)),
        at,
    )


def _body(lines: list[str], at: int, indent: int) -> tuple[list[str], int]:
    """Return the lines of source and marks, without indentation, and the position behind them."""
    body: list[str] = []
    while at < len(lines) and lines[at].strip() and len(body) < 64:
        line = lines[at]
        if _FRAME.match(line) or _OTHER.match(line):
            break
        if _SKIPPED.match(line):
            at += 1
            continue
        kept = line[:indent].isspace()
        marks = _MARKS.match(line) is not None
        if not kept and not marks and (body or _ERROR.match(line)):
            break
        body.append(line[indent:] if kept else line.strip())
        at += 1
        if not kept and marks:
            break
    return [line.rstrip() for line in body], at


def _source(body: list[str], kept: bool) -> tuple[str, Marks | None]:
    """Tell source from marks."""
    source: list[str] = []
    first: tuple[int, int] | None = None
    last: tuple[int, int] | None = None
    for line in body:
        if not _MARKS.match(line):
            source.append(line)
        elif source:
            row = len(source) - 1
            begin = len(line) - len(line.lstrip())
            first = first or (row, begin)
            last = (row, len(line))
    if first is None or last is None:
        return "\n".join(source), None
    length = last[1] - first[1] if first[0] == last[0] else -1
    return "\n".join(source), Marks(first, last, length) if kept else Marks(None, None, length)
