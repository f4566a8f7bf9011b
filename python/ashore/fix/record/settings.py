"""What the recorder is told through the environment: where to write and whose files to watch."""

from __future__ import annotations

import json
import os
import sysconfig
from dataclasses import dataclass

RECORD = "ASHORE_RECORD"
_FOREIGN = ("site-packages", "dist-packages", "node_modules")


@dataclass(frozen=True)
class Settings:
    """Hold the journal's folder and the folders of the project."""

    folder: str
    roots: tuple[str, ...]
    gradients: bool = False  # look for gradients that go through NumPy, instead

    def to_text(self) -> str:
        """Return the settings as the environment holds them."""
        return json.dumps([self.folder, list(self.roots), self.gradients])

    def owns(self, path: str) -> bool:
        """Tell whether a file is the project's: below its folders, not installed, no way out."""
        real = os.path.realpath(path)
        if not any(is_below(real, root) for root in self.roots):
            return False
        return not (is_installed(real) or is_installed(path))


def read_settings() -> Settings | None:
    """Return the settings of this process; None where nothing is to be recorded."""
    text = os.environ.get(RECORD, "")
    if not text:
        return None
    folder, roots, gradients = json.loads(text)
    return Settings(folder, tuple(roots), gradients)


def is_below(path: str, folder: str) -> bool:
    """Tell whether a real path lies in a real folder."""
    return path.startswith(folder.rstrip(os.sep) + os.sep)


def is_installed(path: str) -> bool:
    """Tell whether a file belongs to Python, an environment or an installed package."""
    if any(part in _FOREIGN for part in path.split(os.sep)):
        return True
    names = ("stdlib", "platstdlib")
    if any(is_below(path, os.path.realpath(sysconfig.get_path(name))) for name in names):
        return True
    return is_below(path, os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
