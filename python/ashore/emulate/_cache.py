"""The private folder of compiled emulators: its owner, its lock, its entries; used by the build.

An entry is a folder that was renamed into place whole, with a manifest of the SHA-256 of its files.
Everything that writes does so under one lock, so a temporary folder that is there when the lock is
taken was left by a build that died.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ashore import _private_folder
from ashore._private_folder import WAY_OUT, UnsafeFolder, make_private
from ashore.emulate._build_error import CannotEmulate

MANIFEST = "manifest.json"

_KEPT = 4
_KEPT_SECONDS = 24 * 3600
_WAIT_TOLD_AFTER = 2.0

Say = Callable[[str], None]


def cache_folder() -> Path:
    """Return where the emulators of this user lie, not yet looked at."""
    try:
        return _private_folder.cache_folder()
    except UnsafeFolder as error:
        raise CannotEmulate(str(error)) from error


class BuildCache:
    """Find, add and remove compiled emulators."""

    def __init__(self, base: Path, say: Say) -> None:
        """Make the folder if it is not there and refuse one that others could write to."""
        self._say = say
        self.folder = base / "emulator"
        try:
            make_private(base, "emulator")
        except UnsafeFolder as error:
            raise CannotEmulate(str(error)) from error
        except OSError as error:
            raise _cannot_use(self.folder, error) from error

    def find(self, prefix: str) -> Path | None:
        """Return the newest entry whose name begins so and whose files are what was built."""
        entries = [entry for entry in self._entries() if entry.name.startswith(prefix)]
        for entry in sorted(entries, key=_last_use, reverse=True):
            fault = _fault(entry)
            if fault is None:
                with suppress(OSError):  # a cache that is read only serves as well
                    os.utime(entry)
                return entry
            self._say(f"the cached emulator is not what was built ({fault}); building it again")
        return None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only process that changes the cache; wait for the one that is."""
        path = self.folder / "lock"
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise _cannot_use(self.folder, error) from error
        try:
            self._wait(lock)
            yield
        finally:
            os.close(lock)

    def _wait(self, lock: int) -> None:
        start = time.monotonic()
        told = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EINTR):
                    raise _cannot_use(self.folder, error) from error
            if not told and time.monotonic() - start > _WAIT_TOLD_AFTER:
                self._say("another process is compiling the emulated GPU; waiting for it")
                told = True
            time.sleep(0.05)

    @contextmanager
    def workshop(self) -> Iterator[Path]:
        """Give a temporary folder, gone afterwards; call it under the lock."""
        for left in self.folder.glob("tmp-*"):
            shutil.rmtree(left, ignore_errors=True)
        folder = self.folder / f"tmp-{os.urandom(6).hex()}"
        try:
            folder.mkdir(0o700)
            yield folder
        except OSError as error:
            raise _cannot_use(self.folder, error) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, made: Path, name: str, facts: dict[str, Any]) -> Path:
        """Write the manifest of a folder in the workshop and rename it into place."""
        files = {path.name: _sha256(path) for path in sorted(made.iterdir())}
        (made / MANIFEST).write_text(json.dumps({"files": files, **facts}, indent=1) + "\n")
        entry = self.folder / name
        if entry.exists():
            entry.rename(made.parent / "replaced")
        made.rename(entry)
        self._prune(entry)
        return entry

    def _prune(self, newest: Path) -> None:
        """Remove entries that nobody used lately; a process that has one open keeps its files."""
        others = sorted((e for e in self._entries() if e != newest), key=_last_use, reverse=True)
        for old in others[_KEPT - 1 :]:
            if time.time() - _last_use(old) > _KEPT_SECONDS:
                doomed = self.folder / f"tmp-{os.urandom(6).hex()}"
                with suppress(OSError):
                    old.rename(doomed)
                    shutil.rmtree(doomed, ignore_errors=True)

    def _entries(self) -> list[Path]:
        return [path.parent for path in self.folder.glob(f"*/{MANIFEST}") if _is_entry(path.parent)]


def read_manifest(entry: Path) -> dict[str, Any]:
    """Return the facts that were published with an entry."""
    facts: dict[str, Any] = json.loads((entry / MANIFEST).read_bytes())
    return facts


def _is_entry(folder: Path) -> bool:
    return not folder.name.startswith("tmp-") and not folder.is_symlink()


def _last_use(entry: Path) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def _fault(entry: Path) -> str | None:
    """Say what is wrong with an entry, None if nothing is."""
    try:
        files = read_manifest(entry)["files"]
        for name, expected in files.items():
            if "/" in name or _sha256(entry / name) != expected:
                return f"{entry / name} was changed"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{entry}: {str(error) or type(error).__name__}"
    return None


def _sha256(path: Path) -> str:
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cannot_use(folder: Path, error: OSError) -> CannotEmulate:
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CannotEmulate(
            f"no space for the compiled emulator in {folder}: free some, or {WAY_OUT}"
        )
    return CannotEmulate(f"the cache folder {folder} cannot be used ({reason}): {WAY_OUT}")
