"""Source files, of which only regular ones below the working folder are opened."""

from __future__ import annotations

import os
import stat
import tokenize
from io import BytesIO

_MOST_BYTES = 4_000_000


class Folder:
    """Give the lines of files below one folder; a link that leads out of it leads nowhere."""

    def __init__(self, path: str | None) -> None:
        """Take a folder, or None to open nothing."""
        self._root = os.path.realpath(path) if path is not None else None
        self._known: dict[str, list[str] | None] = {}

    def lines(self, file: str) -> list[str] | None:
        """Return the lines of a file, or None if it may not or cannot be read."""
        if file not in self._known:
            self._known[file] = self._read(file) if self._root is not None else None
        return self._known[file]

    def holds(self, file: str) -> bool:
        """Tell whether the file lies below the folder, and not among installed packages."""
        return self._root is not None and self._inside(file) is not None

    def _inside(self, file: str) -> str | None:
        assert self._root is not None
        if not file or "\0" in file or file[0] == "<":
            return None
        try:
            path = os.path.realpath(os.path.join(self._root, os.path.expanduser(file)))
        except (OSError, ValueError):
            return None
        return path if path.startswith(self._root.rstrip(os.sep) + os.sep) else None

    def _read(self, file: str) -> list[str] | None:
        path = self._inside(file)
        if path is None or not path.endswith((".py", ".pyw")):
            return None
        try:
            # Not a pipe or a device, and no link that was put there since the path was resolved.
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(number, "rb") as opened:
                if not stat.S_ISREG(os.fstat(number).st_mode):
                    return None
                data = opened.read(_MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                return None
            encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
            text = data.decode(encoding)
        except (OSError, SyntaxError, LookupError, UnicodeDecodeError):
            return None
        return text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").split("\n")
