"""Run in a copy of the project's folder, so that only edits reach the folder itself."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ashore.fix.digest import digest_of
from ashore.fix.dynamic.launch import Program, roots_of
from ashore.fix.dynamic.project import Files
from ashore.fix.dynamic.session import Result

_LEFT_OUT = (".git", "__pycache__", ".venv", "venv", "node_modules", ".mypy_cache", ".ruff_cache")


@contextmanager
def copied(program: Program) -> Iterator[tuple[Program, str, str]]:
    """Yield the program as it is started in a copy, the folder that was copied, and the copy."""
    root = roots_of(program.words, program.folder)[0]
    with tempfile.TemporaryDirectory(prefix="ashore-copy-") as folder:
        there = os.path.join(os.path.realpath(folder), os.path.basename(root) or "copy")
        ignored = shutil.ignore_patterns(*_LEFT_OUT)
        shutil.copytree(root, there, symlinks=True, ignore=ignored)
        words = list(program.words)
        if words[0] != "-m":
            script = os.path.realpath(os.path.join(program.folder, words[0]))
            words[0] = os.path.join(there, os.path.relpath(script, root))
        inside = os.path.relpath(os.path.realpath(program.folder), root)
        cwd = there if inside.startswith(os.pardir) else os.path.normpath(f"{there}/{inside}")
        yield replace(program, words=tuple(words), folder=cwd), root, there


def brought_back(result: Result, root: str, there: str, write: bool) -> Result:
    """Return the result with the paths of the folder itself; write the edits there."""
    changed = {}
    for path, (before, after) in result.changed.items():
        own = os.path.join(root, os.path.relpath(path, there))
        if write and not result.restored:
            files = Files((root,))
            source = files.source(own, digest_of(before))  # Refused if it was changed meanwhile
            files.write(source, after)
        changed[own] = (before, after)
    left = tuple(
        report._replace(path=os.path.join(root, os.path.relpath(report.path, there)))
        for report in result.left
    )
    return replace(result, changed=changed, left=left)
