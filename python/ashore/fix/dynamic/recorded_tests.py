"""What `pytest --record-fixes` does: record while the tests run, and show the edits at the end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ashore.fix.dynamic.launch import Program
from ashore.fix.dynamic.notes import read_notes
from ashore.fix.dynamic.session import Session
from ashore.fix.record.settings import RECORD, Settings
from ashore.fix.record.start import start


class RecordedTests:
    """Record in this process and in those that it starts."""

    def __init__(self, root: Path) -> None:
        """Begin at once: before conftest files, and better before torch, are imported."""
        self._folder = tempfile.TemporaryDirectory(prefix="ashore-")
        self._root = os.path.realpath(root)
        os.environ[RECORD] = Settings(self._folder.name, (self._root,)).to_text()
        start()

    def lines(self) -> list[str]:
        """End the recording; return what to tell: the edits as a diff, and what is left."""
        from ashore.fix.output.as_text import render
        from ashore.fix.output.diff import unified
        from ashore.fix.output.outcome import Outcome
        from ashore.fix.write import Fixed

        os.environ.pop(RECORD, None)
        program = Program(("-m", "pytest"), self._root)
        result = Session(program, write=False, verify=False, say=lambda _: None).planned(
            read_notes(self._folder.name)
        )
        self._folder.cleanup()
        told: list[str] = []
        for path, (before, after) in result.changed.items():
            shown = os.path.relpath(path, self._root)
            told += unified(Fixed(shown, before, after, 0, ())).splitlines()
        if result.left:
            told += render(Outcome(result.left, (), 0, 0, self._root)).splitlines()
        if result.trouble:
            told.append(result.trouble)
        if result.changed:
            told.append(
                f"{result.repaired} place(s) to repair; to do it: ashore fix --run -m pytest"
            )
        return told or ["nothing to repair"]
