"""Begin to record in this process: called by our sitecustomize where the environment says so."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType
from typing import Any

from ashore.fix.record.instrument import CALL, SEE
from ashore.fix.record.recorder import Recorder
from ashore.fix.record.settings import read_settings
from ashore.fix.record.torch_calls import computes, taking_arrays
from ashore.fix.source import Unreadable


def start() -> Recorder | None:
    """Watch the user's files and the libraries that they import from now on."""
    settings = read_settings()
    if settings is None:
        return None
    recorder = Recorder(settings)
    setattr(builtins, SEE, recorder.watch.see)
    setattr(builtins, CALL, _caller(recorder))
    own_get_code = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        path = self.get_filename(name)
        code = _compiled(recorder, path, path)
        return own_get_code(self, name) if code is None else code

    setattr(SourceFileLoader, "get_code", get_code)  # noqa: B010 – mypy has another type for it
    sys.path_hooks.insert(0, lambda entry: _ScriptFinder(recorder, entry))
    from ashore.fix.record.libraries import AFTER_IMPORT

    later = {}
    for name, hook in AFTER_IMPORT.items():
        if name in sys.modules:
            hook(recorder, sys.modules[name])
        else:
            later[name] = _bound(hook, recorder)
    sys.meta_path.insert(0, _AfterImport(later))
    return recorder


def _caller(recorder: Recorder) -> Callable[[int, Any], Any]:
    """Return what is asked for each function of NumPy's and torch's that the program calls."""
    gradients = recorder.gradients

    def call(number: int, function: Any) -> Any:
        if computes(function):
            return taking_arrays(recorder, function)
        return gradients.call(number, function) if gradients else function

    return call


def _bound(function: Callable[[Recorder, Any], None], recorder: Recorder) -> Callable[[Any], None]:
    return lambda module: function(recorder, module)


def _compiled(recorder: Recorder, path: str, name: str) -> CodeType | None:
    """Return the instrumented code of a file of the project, None for all others."""
    path = os.path.abspath(path)
    if not recorder.settings.owns(path):
        return None
    try:
        with open(path, "rb") as file:
            raw = file.read()
        return recorder.files.compile(path, name, raw)
    except (OSError, Unreadable, RecursionError, SyntaxError, ValueError):
        return None


class _ScriptFinder:
    """Take the script from Python: it asks the path hooks whether one can run that path."""

    def __init__(self, recorder: Recorder, entry: str) -> None:
        # Python has made the script's path absolute by now, if it could.
        if not os.path.isfile(entry) or entry not in map(os.path.abspath, sys.orig_argv):
            raise ImportError(f"{entry} is no script")
        self._recorder, self._entry = recorder, entry

    def find_spec(self, name: str, target: Any = None) -> ModuleSpec | None:
        if name != "__main__":
            return None
        path = os.path.abspath(self._entry)
        loader = _ScriptLoader(self._recorder, self._entry)
        return spec_from_file_location(name, path, loader=loader)


class _ScriptLoader(SourceFileLoader):
    """Compile the script, and let `__main__` look as if Python had run the file itself."""

    def __init__(self, recorder: Recorder, entry: str) -> None:
        super().__init__("__main__", os.path.abspath(entry))
        self._recorder, self._entry = recorder, entry

    def get_code(self, name: str) -> CodeType:
        path = os.path.abspath(self._entry)
        sys.path_importer_cache.pop(self._entry, None)
        if sys.path and sys.path[0] == self._entry:
            sys.path[0] = os.path.dirname(os.path.realpath(path))
        code = _compiled(self._recorder, path, self._entry)
        if code is None:
            with open(path, "rb") as file:
                code = compile(file.read(), self._entry, "exec", dont_inherit=True)
        # runpy fills these in before it runs the code, Python itself has none for a script.
        cleared = "__spec__ = None; __package__ = None; __cached__ = None"
        return _after(cleared, code)


def _after(first: str, code: CodeType) -> CodeType:
    """Return code that runs a line and then `code` itself, in the same globals."""
    runner = compile(f"{first}\nexec(_ashore_main(), globals())", "<ashore>", "exec")
    builtins._ashore_main = lambda: code  # type: ignore[attr-defined]
    return runner


class _AfterImport:
    """Find what the other finders find, with one thing to be done after it was run."""

    def __init__(self, steps: dict[str, Callable[[Any], None]]) -> None:
        self._steps = steps
        self._asking: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self._steps or name in self._asking:
            return None
        self._asking.add(name)
        try:
            spec = _find(name, path, target)
        finally:
            self._asking.discard(name)
        if spec is not None and spec.loader is not None:
            self._wrap(name, spec.loader)
        return spec

    def _wrap(self, name: str, loader: Loader) -> None:
        own = loader.exec_module

        def exec_module(module: Any) -> None:
            own(module)
            step = self._steps.pop(name, None)
            if step is not None:
                step(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]


def _find(name: str, path: Any, target: Any) -> ModuleSpec | None:
    for finder in list(sys.meta_path):
        find_spec = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find_spec(name, path, target) if find_spec else None
        if spec is not None:
            return spec
    return None
