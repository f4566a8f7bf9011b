"""The error that `strict_sync` makes of touching a copy too early."""

from __future__ import annotations


class UnfinishedCopy(RuntimeError):
    """Memory of a copy was read or written before the copy was waited for.

    Raised in the main thread right after the access. The message names the line that started the
    copy where it is known; the traceback shows the one that touched it.
    """


UnfinishedCopy.__module__ = "ashore.emulate"
