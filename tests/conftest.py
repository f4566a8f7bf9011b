"""For all tests: a run in the background is as one in the foreground."""

from __future__ import annotations

import signal

# A shell lets what it starts in the background ignore SIGINT, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
