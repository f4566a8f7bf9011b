"""Write what was recorded, one JSON object a line; a line replaces an earlier one of the same key.

Each process has its own file, so that workers, crashes and forks lose nothing.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any


class Journal:
    """Append to `<folder>/<pid>.jsonl`."""

    def __init__(self, folder: str) -> None:
        """Write into a folder that is there."""
        self._folder = folder
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def write(self, event: dict[str, Any]) -> None:
        """Append one event; what cannot be written is lost, the program goes on."""
        line = json.dumps(event, separators=(",", ":"), sort_keys=True) + "\n"
        path = os.path.join(self._folder, f"{os.getpid()}.jsonl")
        try:
            with self._lock:
                at = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
                try:
                    os.write(at, line.encode())
                finally:
                    os.close(at)
        except OSError:
            pass
