"""Bring pasted text into lines that look as Python printed them; called by `read`.

Colours go, lines that lost their breaks get them back, and what loggers, launchers and mail
programs put before each line goes too. Lines of several processes are told apart by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_CHARACTERS = 4_000_000
MOST_LINE = 5_000

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")
# IPython shows the expression that failed on a coloured ground.
_HIGHLIGHT = re.compile(r"\x1b\[(?:\d+;)*4[1-7](?:;\d+)*m(.*?)(?=\x1b\[)")
LIT, UNLIT = "\ue000", "\ue001"
_BEFORE = re.compile(
    r'^(\S.*?|[ \t]*\|.*?)(?:Traceback \(most recent call last\):|[ ]{2}File "[^"]+", line \d)'
)
_TIME = re.compile(r"[\d/.T-]*\d*[ T]?\d\d?:\d\d(?::\d\d)?[\d.,:+Z-]*|\d{4}-\d\d-\d\d")
_LOST_BREAKS = re.compile(r'(?<=\S)\s+(?=File "[^"]+", line \d+)')
_AFTER_FRAME = re.compile(r'(File "[^"]+", line \d+, in (?:<\w+>|\w+))[ \t]+(?=\S)')
_MARKS = re.compile(r"(?<=\S)[ \t]+([~^]{3,})(?=\s|$)")
_BEFORE_ERROR = re.compile(r"[ \t]+(?=(?:\w+\.)*\w+(?:Error|Exception): )")


def streams(text: str) -> list[tuple[str, list[str]]]:
    """Return (process, lines) for each process whose lines are mixed in the text."""
    lines = [line[:MOST_LINE] for line in _restored(text[-MOST_CHARACTERS:])]
    shapes = _prefixes(lines)
    if not shapes:
        return [("", lines)]
    before = re.compile("|".join(shapes))
    by_process: dict[str, list[str]] = {}
    process = ""
    for line in lines:
        found = before.match(line)
        if found:
            process = _name(found[0])
            line = line[found.end() :]
        elif line.strip():
            process = _sticky(process)
        by_process.setdefault(process, []).append(line)
    return list(by_process.items())


def without_colours(text: str) -> str:
    """Return the text without escape sequences of terminals."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def _restored(text: str) -> Iterable[str]:
    if "\x1b" in text:
        text = _HIGHLIGHT.sub(rf"{LIT}\1{UNLIT}", text)
    text = without_colours(text).replace("\r\n", "\n").replace("\xa0", " ")
    for line in text.split("\n"):
        line = line.rpartition("\r")[2].expandtabs(4)
        if "\\n" in line and re.search(r'Traceback \(most|File \\?"', line):
            line = line.replace('\\"', '"').replace("\\n", "\n")
        found = len(re.findall(r'File "[^"]+", line \d+', line))
        if "\n" not in line and (found > 1 or (found and "Traceback (most" in line)):
            line = _broken(line)
        yield from line.split("\n")


def _broken(line: str) -> str:
    """Put back the breaks of a traceback that stands in one line."""
    line = _LOST_BREAKS.sub("\n  ", line)
    line = _MARKS.sub(r"\n\1\n", _AFTER_FRAME.sub(r"\1\n    ", line))
    head, _, last = line.rpartition("\n")
    return f"{head}\n{_BEFORE_ERROR.sub(chr(10), last, count=1)}"


def _prefixes(lines: list[str]) -> list[str]:
    """Return patterns of what stands before the lines of tracebacks."""
    shapes: dict[str, None] = {}
    for line in lines:
        found = _BEFORE.match(line) if 'File "' in line or "Traceback (" in line else None
        if found and found[1].strip() and '"' not in found[1]:
            shapes[re.sub(r"\d+", r"\\d+", re.escape(found[1]))] = None
            shapes[re.sub(r"\d+", r"\\d+", re.escape(found[1].rstrip())) + "$"] = None
    return sorted(shapes, key=len, reverse=True)[:64]


def _name(prefix: str) -> str:
    return _TIME.sub("", prefix).strip()


def _sticky(process: str) -> str:
    """Return the process that a line without prefix belongs to."""
    return "" if re.search(r"rank|\d", process) else process


def rank_of(process: str) -> str:
    """Return the number of the process in its prefix, if there is one."""
    found = re.search(r"(?:rank|default|worker|gpu|trainer|proc)\D{0,2}(\d+)", process, re.I)
    found = found or re.match(r"\[?(\d+)(?:,\d+)?\]?(?:<\w+>)?:$", process)
    return found[1] if found else ""
