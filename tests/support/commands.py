"""Run the `ashore` command in this process, as `ashore.__main__` does, for many small cases."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from ashore.__main__ import main


class Done(NamedTuple):
    """Hold what a command gave."""

    code: int
    out: str
    err: str


class Shell:
    """Run commands in a folder of their own, with a cache of their own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *words: str) -> Done:
        self._capsys.readouterr()
        code = main(list(words))
        said = self._capsys.readouterr()
        return Done(code, said.out, said.err)

    def write(self, **files: str) -> None:
        """Write modules: name without `.py`, text."""
        for name, text in files.items():
            path = self.folder / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
