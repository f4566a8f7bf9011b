"""Read tracebacks out of text, whoever printed them: Python, IPython, pytest, a logger."""

from __future__ import annotations

import re
from collections.abc import Callable

from ashore.explain import ipython, plain, pytest_report
from ashore.explain.frames import Failure, Frame
from ashore.explain.lines import rank_of, streams

_MOST_MESSAGE_LINES = 40
CUT_OFF = "(the line that names the file was cut off)"
_CAUSE = "The above exception was the direct cause"
_CONTEXT = "During handling of the above exception"
_ERROR = re.compile(
    r"(?:E\s+)?(?:Exception: )?((?:[A-Za-z_]\w*\.)*[A-Z]\w*"
    r"(?:Error|Exception|Warning|Exit|Interrupt|Failure)"
    r"|(?:[a-z_]\w*\.)+[A-Z]\w+)(?::\s*(.*))?$"
)
_BEGIN = "Traceback (most recent call last)"
_HEADER = re.compile(r"(?:(\w+)\s{2,})?Traceback \(most recent call last\)")
_WARNING = re.compile(r"(\S.*?):(\d+): (\w*Warning): (.*)")

# Each takes the lines and a position, and returns a frame and the position behind it.
Reader = Callable[[list[str], int], tuple[Frame, int] | None]
_READERS: tuple[Reader, ...] = (plain.read_frame, ipython.read_frame, pytest_report.read_frame)


def read(text: str) -> list[Failure]:
    """Return the failures in the text, in its order, process by process."""
    failures: list[Failure] = []
    for process, lines in streams(text):
        failures += _Scan(lines, rank_of(process)).failures()
    return failures


class _Scan:
    """Walk over the lines of one process and put frames and messages together."""

    def __init__(self, lines: list[str], rank: str) -> None:
        self._lines = lines
        self._rank = rank
        self._found: list[Failure] = []
        self._frames: list[Frame] = []
        self._link = ""
        self._announced = ""

    def failures(self) -> list[Failure]:
        """Return what the lines hold."""
        at = 0
        while at < len(self._lines):
            at = self._step(at)
        self._close("", "")
        return self._found

    def _step(self, at: int) -> int:
        line = self._lines[at]
        if not line.strip():
            return at + 1
        if _CAUSE in line or _CONTEXT in line:
            self._close("", "")
            self._link = "cause" if _CAUSE in line else "context"
            return at + 1
        header = _HEADER.search(line) if _BEGIN in line else None
        if header:
            self._close("", "")
            self._announced = header[1] or ""
            return at + 1
        if pytest_report.is_boundary(line):
            self._close("", "")
            return at + 1
        for reader in _READERS:
            read = reader(self._lines, at)
            if read is not None:
                self._add(read[0])
                return read[1]
        return self._message(line.strip(), at)

    def _message(self, line: str, at: int) -> int:
        warned = _WARNING.fullmatch(line)
        if warned and not self._frames:
            source = self._lines[at + 1].strip() if at + 1 < len(self._lines) else ""
            self._frames = [Frame(warned[1], int(warned[2]), source=source)]
            self._close(warned[3], warned[4])
            return at + 2
        if summary := pytest_report.one_line(line):
            self._add_summary(*summary)
            return at + 1
        found = _ERROR.match(line)
        if not found:
            if not self._frames and self._lines[at][:4].isspace() and self._is_frame(at + 1):
                self._frames = [Frame(CUT_OFF, None, source=line)]
            return at + 1
        message, at = self._rest(found[2] or "", at, line.startswith("E "))
        self._close(found[1], message)
        return at

    def _is_frame(self, at: int) -> bool:
        return at < len(self._lines) and plain.read_frame(self._lines, at) is not None

    def _rest(self, message: str, at: int, pytest: bool) -> tuple[str, int]:
        """Return the whole message, which may go on in the next lines, and where it ends."""
        parts = [message]
        at += 1
        while at < len(self._lines) and len(parts) < _MOST_MESSAGE_LINES:
            line = self._lines[at].strip()
            if not line or _BEGIN in line or (pytest and not line.startswith("E ")):
                break
            if any(reader(self._lines, at) for reader in _READERS) or _ERROR.match(line):
                break
            parts.append(line[1:].strip() if pytest else line)
            at += 1
        return " ".join(part for part in parts if part), at

    def _add_summary(self, frame: Frame | None, error: str, message: str) -> None:
        begin = message[:25]
        last = self._found[-1] if self._found else None
        if frame and last is not None and not last.frames and begin in last.message:
            self._found[-1] = last._replace(frames=(frame,))
        elif not any(begin in failure.message for failure in self._found):
            self._frames = [frame] if frame else []
            self._close(error, message)

    def _add(self, frame: Frame) -> None:
        if not self._frames and not frame.source and self._found:
            failure = self._found[-1]  # pytest names the file after the message
            if failure.frames and not failure.frames[-1].file:
                frames = tuple(pytest_report.completed([*failure.frames, frame]))
                self._found[-1] = failure._replace(frames=frames)
                return
        last = self._frames[-1] if self._frames else None
        if last is not None and last[:3] == frame[:3]:  # two processes, line by line
            self._frames[-1] = last if last.source else frame
            return
        self._frames.append(frame)

    def _close(self, error: str, message: str) -> None:
        """End the failure that is being read."""
        if self._frames or message:
            frames = tuple(pytest_report.completed(self._frames))
            error = error or self._announced
            self._found.append(Failure(frames, error, message, self._link, self._rank))
            self._link = ""
        self._frames = []
        self._announced = ""
