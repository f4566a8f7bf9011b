"""What was found in files that have not changed since; one private file for each project.

A file counts as unchanged if its size, times and number are the same, or else its content. The
files that its result rests on must be unchanged as well.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ashore._atomic import atomic_file
from ashore._private_folder import UnsafeFolder, cache_folder, make_private
from ashore.fix.digest import digest_of
from ashore.fix.files import Found, mark_of
from ashore.fix.report import Report, from_values, to_values

_FORMAT = 1


class Entry(NamedTuple):
    """Hold what was found in a file with this digest."""

    digest: str
    lines: int
    reports: tuple[Report, ...]
    fault: str
    rests_on: tuple[str, ...]


class Cache:
    """Hold the entries of one project."""

    def __init__(self, path: Path) -> None:
        """Read the file at `path`; one that is damaged or of another version counts for nothing."""
        self._path = path
        self._changed = False
        self._digests: dict[str, str | None] = {}
        self._files: dict[str, list[Any]] = {}
        self._key = _key()
        with suppress(OSError, ValueError, TypeError, AttributeError):
            held = json.loads(path.read_bytes())
            if held["key"] == self._key and isinstance(held["files"], dict):
                self._files = held["files"]

    def find(self, found: Found) -> Entry | None:
        """Return the entry of a file that is as it was, and so is what it rests on."""
        row = self._files.get(os.path.abspath(found.path))
        if row is None:
            return None
        try:
            mark, digest, lines, reports, fault, rests_on = row
            if tuple(mark) != found.mark:
                if _digest(found.path) != digest:
                    return None
                row[0] = list(found.mark)
                self._changed = True
            if any(self._digest_of(path) != known for path, known in rests_on):
                return None
            if not reports:
                return Entry(digest, lines, (), fault, ())
            made = tuple(from_values([found.path, *values]) for values in reports)
            return Entry(digest, lines, made, fault, ())
        except (ValueError, TypeError, IndexError):
            return None

    def add(self, found: Found, entry: Entry) -> None:
        """Keep what was found in a file."""
        reports = [to_values(report)[1:] for report in entry.reports]
        rests_on = [[os.path.abspath(path), self._digest_of(path)] for path in entry.rests_on]
        self._files[os.path.abspath(found.path)] = [
            list(found.mark),
            entry.digest,
            entry.lines,
            reports,
            entry.fault,
            rests_on,
        ]
        self._changed = True

    def write(self) -> None:
        """Write what is new; a cache that cannot be written is none."""
        if self._changed:
            content = json.dumps({"key": self._key, "files": self._files}, separators=(",", ":"))
            with suppress(OSError), atomic_file(self._path) as file:
                file.write(content.encode())

    def _digest_of(self, path: str) -> str | None:
        path = os.path.abspath(path)
        if path not in self._digests:
            self._digests[path] = self._known_digest(path) or _digest(path)
        return self._digests[path]

    def _known_digest(self, path: str) -> str | None:
        """Return the digest of a file that is in the cache as it is on disk."""
        row = self._files.get(path)
        with suppress(OSError):
            if row is not None and tuple(row[0]) == mark_of(os.stat(path)):
                return str(row[1])
        return None


def open_cache(root: str) -> Cache | None:
    """Return the cache of a project, None where there is no safe place for it."""
    name = digest_of(os.path.abspath(root).encode())
    try:
        return Cache(make_private(cache_folder(), "check") / f"{name}.json")
    except (UnsafeFolder, OSError):
        return None


def _digest(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return digest_of(file.read())
    except OSError:
        return None


def _key() -> list[Any]:
    """Return what makes results comparable: our own code and Python's version."""
    newest = 0
    count = 0
    for folder, _, names in os.walk(Path(__file__).parent):
        for name in names:
            if name.endswith((".py", ".toml")):
                newest = max(newest, os.stat(os.path.join(folder, name)).st_mtime_ns)
                count += 1
    return [_FORMAT, sys.version, newest, count]
