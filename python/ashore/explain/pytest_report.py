"""Read a frame as pytest prints it: long (`>` before the line), short, and one line each.

The long style names the file after the lines of source. Its frame is read without a file, and
`completed` gives it that of the location that follows.
"""

from __future__ import annotations

import re

from ashore.explain.frames import Frame, Marks

_FAILING = re.compile(r">(\s+)(\S.*)$")
_LOCATION = re.compile(r"([^\s:<>][^:<>]*?):(\d+): ?(?:(in) (\S+)|([\w.]+)?)\s*$")
_ONE_LINE = re.compile(r"(?:FAILED|ERROR) (\S+) - ((?:\w+\.)*\w+): (.*)")
_LINE_STYLE = re.compile(r"(\S+\.py):(\d+): ((?:\w+\.)*\w*(?:Error|Exception)): (.*)")
_MARKS = re.compile(r"\s*[~^][~^\s]*$")
_DEF = re.compile(r"\s*(?:async )?def (\w+)")
_MOST_ABOVE = 200


def is_boundary(line: str) -> bool:
    """Tell whether the line begins another test or section."""
    return bool(re.match(r"(_{3,}|={3,}) .+ (_{3,}|={3,})\s*$", line.strip())) and not re.match(
        r"[_ ]+$", line.strip()
    )


def one_line(line: str) -> tuple[Frame | None, str, str] | None:
    """Read a line that holds a whole failure: of the summary, or of --tb=line."""
    found = _LINE_STYLE.match(line)
    if found:
        return Frame(found[1], int(found[2])), found[3], found[4]
    found = _ONE_LINE.match(line)
    return (None, found[2], found[3]) if found else None


def read_frame(lines: list[str], at: int) -> tuple[Frame, int] | None:
    """Return the frame that begins at that position, and the position behind it."""
    return _long(lines, at) or _location(lines, at)


def completed(frames: list[Frame]) -> list[Frame]:
    """Join each frame that has only source to the location that follows it."""
    made: list[Frame] = []
    for frame in frames:
        last = made[-1] if made else None
        if last is not None and not last.file and frame.file and not frame.source:
            function = last.function or frame.function
            around = _numbered(last, frame.line)
            made[-1] = last._replace(
                file=frame.file, line=frame.line, function=function, around=around
            )
        else:
            made.append(frame)
    return made


def _numbered(frame: Frame, line: int | None) -> tuple[tuple[int, str], ...]:
    """Number the lines around a failing one, which has 0."""
    return tuple((n + line, text) for n, text in frame.around) if line else ()


def _long(lines: list[str], at: int) -> tuple[Frame, int] | None:
    found = _FAILING.match(lines[at])
    if not found or 'File "' in lines[at]:
        return None
    if not _is_report(lines, at):
        return None
    around = [(0, f" {found[1]}{found[2]}")]
    function = ""
    for above in range(1, min(at, _MOST_ABOVE) + 1):
        line = lines[at - above]
        if line[:1] not in {" ", ""} or re.match(r"(_ ?){4}|[E>] ", line):
            break
        around.insert(0, (-above, line))
        if defined := _DEF.match(line):
            function = defined[1]
            break
    row = 1
    marks = None
    while at + row < len(lines) and (line := lines[at + row]) and line[0] == " ":
        if _MARKS.match(line):
            begin = len(line) - len(line.lstrip()) - len(found[1]) - 1
            marks = Marks((0, begin), (0, begin + len(line.strip())), len(line.strip()))
            at += 1
        else:
            around.append((row, line))
            row += 1
    return Frame("", None, function, found[2].rstrip(), marks, tuple(around)), at + row


def _is_report(lines: list[str], at: int) -> bool:
    """Tell pytest's `>` from a mail's: an `E` line or a location comes soon."""
    for line in lines[at + 1 : at + 200]:
        if line.startswith("E  ") or _LOCATION.match(line):
            return True
        if line.startswith(">"):
            return False
    return False


def _location(lines: list[str], at: int) -> tuple[Frame, int] | None:
    found = _LOCATION.match(lines[at])
    if not found or not (found[1].endswith(".py") or found[3]):
        return None
    where, number = found[1], int(found[2])
    if not found[3]:
        return Frame(where, number), at + 1
    at += 1
    source: list[str] = []
    marks = None
    while at < len(lines) and lines[at].startswith("    ") and not lines[at].startswith("E "):
        line = lines[at][4:].rstrip()
        at += 1
        if _MARKS.match(line) and source:
            begin = len(line) - len(line.lstrip())
            row = len(source) - 1
            marks = Marks((row, begin), (row, len(line)), len(line.strip()))
        elif line.strip():
            source.append(line)
    return Frame(where, number, found[4], "\n".join(source), marks), at
