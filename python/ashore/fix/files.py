"""Which files a path stands for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ashore.fix.config import Settings

_LEFT_OUT = frozenset(
    "__pycache__ node_modules site-packages dist-packages build dist venv env".split()
)
_SUFFIXES = (".py", ".pyw", ".ipynb")


class Found(NamedTuple):
    """Hold a file and what marks its state: size, times, number."""

    path: str
    mark: tuple[int, int, int, int]


def find_files(paths: Sequence[str], settings: Settings) -> Iterator[Found | OSError]:
    """Yield the Python files and notebooks of folders, and each named file whatever its name.

    Hidden folders, environments and build results are left out, links to folders not followed. What
    cannot be looked at is yielded as its error.
    """
    seen: set[str] = set()
    for path in paths:
        for found in _walk(path, settings) if os.path.isdir(path) else _one(path):
            if isinstance(found, OSError):
                yield found
            elif found.path not in seen:
                seen.add(found.path)
                yield found


def mark_of(status: os.stat_result) -> tuple[int, int, int, int]:
    """Return what changes when a file does."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _one(path: str) -> Iterator[Found | OSError]:
    try:
        yield Found(os.path.normpath(path), mark_of(os.stat(path)))
    except OSError as error:
        yield error


def _walk(folder: str, settings: Settings) -> Iterator[Found | OSError]:

    def left_out(path: str) -> bool:
        return bool(settings.exclude) and settings.excludes(path)

    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        yield error
        return
    for entry in listed:
        name = entry.name
        try:
            if entry.is_dir(follow_symlinks=False):
                if name.startswith(".") or name in _LEFT_OUT or _is_environment(entry.path):
                    continue
                if not left_out(entry.path):
                    yield from _walk(entry.path, settings)
            elif name.endswith(_SUFFIXES) and entry.is_file() and not left_out(entry.path):
                yield Found(os.path.normpath(entry.path), mark_of(entry.stat()))
        except OSError as error:
            yield error


def _is_environment(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "pyvenv.cfg"))
