"""The machine as files below one root and an environment; whatever cannot be read is not there.

Tests give a root of their own: `ashore doctor --root`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

_MOST_BYTES = 1 << 20


class Machine:
    """Read files of the machine; no method raises."""

    def __init__(self, root: str, environment: Mapping[str, str]) -> None:
        """Take the folder that stands for / and the environment of programs."""
        self.root = os.path.abspath(root)
        self.environment = environment

    @property
    def is_real(self) -> bool:
        """Whether this is the machine that we run on, not a folder of a test."""
        return self.root == "/"

    def path(self, name: str) -> str:
        """Return where an absolute path of the machine lies."""
        return os.path.join(self.root, name.lstrip("/"))

    def exists(self, name: str) -> bool:
        """Tell whether there is such a file, folder or device."""
        return os.path.lexists(self.path(name))

    def read(self, name: str, *, end: bool = False) -> str:
        """Return the text of a regular file, its first or last megabyte; "" if there is none."""
        path = self.path(name)
        try:
            if not os.path.isfile(path):
                return ""
            with open(path, "rb") as file:
                if end:
                    size = file.seek(0, os.SEEK_END)
                    file.seek(max(0, size - _MOST_BYTES))
                return file.read(_MOST_BYTES).decode(errors="replace")
        except OSError:
            return ""

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted."""
        try:
            return sorted(os.listdir(self.path(folder)))
        except OSError:
            return []

    def may_use(self, name: str) -> bool:
        """Tell whether we may read and write it; root, in a faked machine, whether others may."""
        if os.geteuid() == 0 and not self.is_real:
            with suppress(OSError):
                return bool(os.stat(self.path(name)).st_mode & 0o006)
        return os.access(self.path(name), os.R_OK | os.W_OK)

    def which(self, command: str) -> str | None:
        """Return where a command lies on PATH."""
        for folder in self.environment.get("PATH", "").split(os.pathsep):
            path = self.path(os.path.join(folder, command))
            if folder and os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        return None
