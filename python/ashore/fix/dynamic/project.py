"""The files that a run may change: read, checked against the recording, written, put back."""

from __future__ import annotations

import os
from contextlib import suppress

from ashore._atomic import atomic_file
from ashore.fix.digest import digest_of
from ashore.fix.edits import Refused
from ashore.fix.record.settings import Settings
from ashore.fix.source import Source, Unreadable, read_source


class Files:
    """Hold the project's files as they were, and as they are now."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        """Allow files below these folders only."""
        self.settings = Settings("", roots)
        self.before: dict[str, bytes] = {}
        self.now: dict[str, bytes] = {}

    def source(self, path: str, digest: str) -> Source:
        """Return a file that is still what ran; raises Refused."""
        if not self.settings.owns(path):
            raise Refused(f"{path} is outside the project")
        try:
            with open(path, "rb") as file:
                raw = file.read()
            if digest_of(raw) != digest:
                raise Refused(f"{path} was changed since it ran")
            return read_source(path, raw)
        except OSError as error:
            raise Refused(f"{path}: {error.strerror}") from error
        except Unreadable as error:
            raise Refused(f"{path}: {error}") from error

    def write(self, old: Source, new: bytes) -> None:
        """Write a file, unless somebody else has changed it meanwhile."""
        path = old.path
        with open(path, "rb") as file:
            if file.read() != old.raw:
                raise Refused(f"{path} was changed since it ran")
        self.before.setdefault(path, old.raw)
        self.now[path] = new
        _write(path, new)

    def restore(self, to: dict[str, bytes] | None = None) -> None:
        """Put files back as they were at first, or at a point given by `mark`."""
        wanted = {path: (to or {}).get(path, raw) for path, raw in self.before.items()}
        for path, raw in wanted.items():
            with open(path, "rb") as file:
                there = file.read()
            if there != raw and there == self.now.get(path):  # else somebody else was here
                _write(path, raw)
                self.now[path] = raw

    def mark(self) -> dict[str, bytes]:
        """Return the state to which `restore` can go back."""
        return dict(self.now)

    def changed(self) -> dict[str, tuple[bytes, bytes]]:
        """Return what each changed file was and is."""
        pairs = {path: (raw, self.now[path]) for path, raw in self.before.items()}
        return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


def _write(path: str, raw: bytes) -> None:
    mode = os.stat(path).st_mode & 0o7777
    with atomic_file(path) as file:
        file.write(raw)
        with suppress(OSError):
            os.fchmod(file.fileno(), mode)
