"""The ways in which a command ends badly; `ashore.__main__` prints each as one line."""

from __future__ import annotations


class CannotRun(Exception):
    """Say why a command could not do its work at all: exit code 2."""


class JobFailed(Exception):
    """Say that a command ran and its job did not succeed: exit code 1."""


class Interrupted(Exception):
    """Say that the user stopped the command: exit code 130."""
