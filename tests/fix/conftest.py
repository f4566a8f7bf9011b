"""A shell in an empty folder for the tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Shell


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    """Give a shell; its folder is the working folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ASHORE_CACHE_DIR", str(tmp_path / "cache"))
    return Shell(folder, capsys)
