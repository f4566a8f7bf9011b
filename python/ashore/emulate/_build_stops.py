"""How a build ends that is stopped: its compilers end and its folder goes before the process does,
and the process ends by the signal, as it would have; used by `_build`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType

from ashore.emulate._build_progress import say

_INTERRUPTED = "interrupted while the emulated GPU was being compiled; nothing is left behind"
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class _Stopped(BaseException):
    """One of the signals that end a process came."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Let the block clean up when a signal comes that would have ended the process at once.

    Signals that the program handles or ignores are left to it, and so is a build in another thread
    than the main one, where Python lets nobody handle signals.
    """
    taken: list[signal.Signals] = []
    came: list[int] = []
    working = True

    def stop(number: int, frame: FrameType | None) -> None:
        if not working:
            _end_by(number)
        if not came:  # a second one would disturb the cleaning up
            came.append(number)
            raise _Stopped

    try:
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING:
                if signal.getsignal(number) is signal.SIG_DFL:
                    with suppress(ValueError):  # in a subinterpreter
                        signal.signal(number, stop)
                        taken.append(number)
        yield
    except _Stopped:
        _end_by(came[0])
    except KeyboardInterrupt:
        raise _told_in_one_line() from None
    finally:
        working = False
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _end_by(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _told_in_one_line() -> KeyboardInterrupt:
    """Return the interrupt for the program; if it ends it, a line stands for the traceback."""
    interrupt = KeyboardInterrupt(_INTERRUPTED)  # a class of ours would not end Python by SIGINT
    others = sys.excepthook

    def tell(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        if error is interrupt:
            say(_INTERRUPTED)
        else:
            others(kind, error, traceback)

    sys.excepthook = tell
    return interrupt
