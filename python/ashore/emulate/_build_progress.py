"""What a build says while it works: nothing in its first second, then one line that moves on a
terminal, and elsewhere few lines, so that a log stays short."""

from __future__ import annotations

import sys
import time

from ashore.cli.text import is_live

_QUIET_SECONDS = 1.0
_LINES = 4


def say(text: str) -> None:
    """Write a line to standard error."""
    if sys.stderr is not None:
        print(f"ashore: {text}", file=sys.stderr, flush=True)


class Progress:
    """Count the steps of a build that has `total` of them."""

    def __init__(self, what: str, total: int) -> None:
        """Start the clock; nothing is said yet."""
        self._what = what
        self._total = total
        self._done = 0
        self._start = time.monotonic()
        self._quarter = -1
        self._drawn = ""
        self._moves = is_live(sys.stderr)

    def step(self, more: int = 0) -> None:
        """Note that one is done, and that there are so many more than was thought."""
        self._done += 1
        self._total += more
        self.tick()

    def tick(self) -> None:
        """Say how far the build is, if it is time to."""
        seconds = time.monotonic() - self._start
        if seconds < _QUIET_SECONDS or sys.stderr is None:
            return
        text = f"ashore: {self._what}: {self._done} of {self._total}, {seconds:.0f} s"
        if self._moves:
            if text != self._drawn:
                self._drawn = text
                sys.stderr.write(f"\r{text}\x1b[K")
                sys.stderr.flush()
            return
        quarter = self._done * _LINES // self._total
        if quarter > self._quarter:
            self._quarter = quarter
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal's line empty."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
