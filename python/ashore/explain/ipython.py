"""Read a frame as IPython and Jupyter print it: a heading, numbered lines, an arrow at one."""

from __future__ import annotations

import re

from ashore.explain.frames import Frame, Marks
from ashore.explain.lines import LIT, UNLIT

_CELL = r"(?:Cell |Input )?In ?\[\d+\]|<ipython-input-[^>]+>|<timed \w+>"
_HEADINGS = (
    re.compile(
        rf"(?:File )?(?P<file>{_CELL})(?:,? line (?P<line>\d+))?(?:,? in (?P<function>.+))?$"
    ),
    re.compile(r"File (?P<file>[^\s\"'].*?):(?P<line>\d+)(?:, in (?P<function>.+))?$"),
    re.compile(r"(?P<file>[~/.\w-][^\s\"']*\.py|[A-Za-z]:\\[^\"']*\.py) in (?P<function>[\w<].*)$"),
)
_NUMBERED = re.compile(r"\s*(-+> ?)?(\d+)(?: (.*)|$)")
_MOST_LINES = 400


def read_frame(lines: list[str], at: int) -> tuple[Frame, int] | None:
    """Return the frame whose heading is at that position, and the position behind its lines."""
    heading = lines[at].strip()
    found = next((m for pattern in _HEADINGS if (m := pattern.match(heading))), None)
    if found is None:
        return None
    file, function = found["file"], _name(found["function"] or "")
    number = int(found["line"]) if "line" in found.groupdict() and found["line"] else None
    around: list[tuple[int, str]] = []
    arrow: int | None = None
    marks: Marks | None = None
    at += 1
    while at < len(lines) and len(around) < _MOST_LINES:
        numbered = _NUMBERED.match(lines[at])
        if not numbered:
            if lines[at].strip() in {"", "(...)"} and not around and lines[at].strip():
                at += 1
                continue
            break
        text = numbered[3] or ""
        if numbered[1]:
            arrow = int(numbered[2])
            marks = _lit(text)
        around.append((int(numbered[2]), text.replace(LIT, "").replace(UNLIT, "")))
        at += 1
    if not around and number is None:
        return None
    line = arrow or number
    source = next((text.strip() for n, text in around if n == line), "")
    return Frame(file, line, function, source, marks, tuple(around)), at


def _lit(text: str) -> Marks | None:
    """Return what is highlighted in a line."""
    if LIT not in text:
        return None
    plain = text.lstrip()
    begin = plain.index(LIT)
    end = plain.rindex(UNLIT) - plain.count(LIT) - plain.count(UNLIT) + 1
    return Marks((0, begin), (0, end), end - begin)


def _name(function: str) -> str:
    """Return the bare name of a function that is shown with its class and arguments."""
    return re.sub(r"\(.*", "", function).strip().rpartition(".")[2]
