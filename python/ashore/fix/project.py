"""The files of a project: which file an import means, and what is known of it; used by check.

Only files beside or above the importing one, inside its package's root, count as the project; what
pip has installed is not opened.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # else imported where it is needed: most checks infer nothing
    from ashore.fix.infer.module import Module
    from ashore.fix.infer.scope import Run

_DEPTH = 2  # imports of imports that are followed
_MOST_KEPT = 200  # trees take much memory


class Project:
    """Hold what is known of imported files, so that each is read once."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._runs: dict[tuple[str, int], Run | None] = {}  # by path and depth
        self._modules: dict[str, Module] = {}

    def infer(self, module: Module) -> tuple[Run, frozenset[str]]:
        """Return what is known of a module, and the other files that this rests on."""
        from ashore.fix.infer.passes import infer

        self._keep(module)
        run = infer(module, self.follow)
        return run, frozenset(self._opened(run, run.opened))

    def follow(self, run: Run, name: str) -> Run | None:
        """Return the run over the file that an imported name comes from, if it is the project's."""
        if "." not in name or run.depth >= _DEPTH or name in run.elsewhere:
            return None
        path = find_module(os.path.dirname(run.module.source.path), name.rpartition(".")[0])
        if path is None or path == run.module.source.path:
            run.elsewhere.add(name)
            return None
        run.opened.add(path)
        at = (path, run.depth + 1)
        if at not in self._runs:
            while len(self._runs) >= _MOST_KEPT:
                del self._runs[next(iter(self._runs))]
            self._runs[at] = None  # while it is walked: imports in a circle end here
            self._runs[at] = self._read(path, run.depth + 1)
        return self._runs.get(at)

    def _read(self, path: str, depth: int) -> Run | None:
        from ashore.fix.infer.module import Module
        from ashore.fix.infer.passes import begin
        from ashore.fix.source import Unreadable, read_source

        module = self._modules.get(path)
        if module is None:
            try:
                with open(path, "rb") as file:
                    raw = file.read()
                if b"numpy" not in raw and b"torch" not in raw:
                    return None
                module = Module(read_source(path, raw))
            except (OSError, Unreadable):
                return None
            self._keep(module)
        return begin(module, self.follow, depth)

    def _keep(self, module: Module) -> None:
        while len(self._modules) >= _MOST_KEPT:
            del self._modules[next(iter(self._modules))]
        self._modules[module.source.path] = module

    def _opened(self, run: Run, paths: set[str]) -> set[str]:
        """Return these files and those that the runs over them have opened."""
        found = set(paths)
        for path in paths:
            there = self._runs.get((path, run.depth + 1))
            if there is not None:
                found |= self._opened(there, there.opened)
        return found


@cache
def find_module(folder: str, name: str) -> str | None:
    """Return the file of a dotted module as a file in `folder` imports it, None if not in sight."""
    if name.startswith("."):
        base = folder
        rest = name.lstrip(".")
        for _ in range(len(name) - len(rest) - 1):
            base = os.path.dirname(base)
        return _module_file(base, rest) if rest else _module_file(base, "__init__")
    return _module_file(folder, name) or _module_file(_package_root(folder), name)


@cache
def _package_root(folder: str) -> str:
    """Return the folder in which the outermost package around `folder` lies."""
    while os.path.exists(os.path.join(folder, "__init__.py")):
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return folder


@cache
def _module_file(base: str, name: str) -> str | None:
    stem = os.path.join(base, *name.split("."))
    for path in (f"{stem}.py", os.path.join(stem, "__init__.py")):
        if os.path.isfile(path):
            return path
    return None
