"""Why the emulated GPU cannot be had, in one line; raised by what builds or starts it."""

from __future__ import annotations


class CannotEmulate(RuntimeError):
    """Say in one line what is in the way and the way out."""


CannotEmulate.__module__ = "ashore.emulate"
