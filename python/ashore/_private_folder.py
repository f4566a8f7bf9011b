"""Where ashore keeps what it makes for this user alone; for the compiled emulator and for check.

A folder counts as private if it is the user's own, no symbolic link, and nobody else can write to
it or replace what is above it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

CACHE_DIR = "ASHORE_CACHE_DIR"
WAY_OUT = f"set {CACHE_DIR} to a folder of your own"


class UnsafeFolder(Exception):
    """Say why the cache folder is not used, and the way out."""


def cache_folder() -> Path:
    """Return where the caches of this user lie, not yet looked at."""
    chosen = os.environ.get(CACHE_DIR)
    if chosen:
        if not os.path.isabs(chosen):
            raise UnsafeFolder(f"{CACHE_DIR} must be an absolute path, not {chosen!r}")
        return Path(chosen)
    shared = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(shared):  # its specification says that a relative one counts for nothing
        return Path(shared) / "ashore"
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise UnsafeFolder(f"there is no home folder to keep anything in; {WAY_OUT}")
    if not os.path.isdir(home):  # root could make it, and would have it in a wrong place
        raise UnsafeFolder(f"the home folder {home} is not there; {WAY_OUT}")
    return Path(home) / ".cache" / "ashore"


def make_private(base: Path, name: str) -> Path:
    """Make `base/name` for this user alone, or refuse one that others could write to.

    Raises OSError where that is not possible, UnsafeFolder where it is not safe.
    """
    folder = base / name
    _make(base)
    _check_parents(base)
    _check_owned(base)
    _make(folder)
    _check_owned(folder)
    mode = folder.stat().st_mode
    if mode & 0o022:
        raise UnsafeFolder(
            f"others can write to the cache folder {folder}: remove it, or {WAY_OUT}"
        )
    if mode & 0o077:
        folder.chmod(0o700)
    return folder


def _make(folder: Path) -> None:
    """Make a folder and the missing ones above it, for this user alone."""
    if not folder.parent.exists():
        _make(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(0o700)


def _check_parents(folder: Path) -> None:
    for parent in folder.parent.resolve().joinpath(folder.name).parents:
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise UnsafeFolder(
                f"anybody could replace the cache folder {folder}, {parent} is writable for all: "
                f"{WAY_OUT}"
            )


def _check_owned(folder: Path) -> None:
    status = folder.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise UnsafeFolder(f"the cache folder {folder} is a symbolic link: {WAY_OUT}")
    if not stat.S_ISDIR(status.st_mode):
        raise UnsafeFolder(f"the cache folder {folder} is not a folder: {WAY_OUT}")
    if status.st_uid != os.geteuid():
        raise UnsafeFolder(
            f"the cache folder {folder} belongs to user {status.st_uid}, you are "
            f"{os.geteuid()}: {WAY_OUT}"
        )
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        raise UnsafeFolder(
            f"the cache folder {folder} is writable for all: chmod o-w, or {WAY_OUT}"
        )
