"""Which library gets which hooks, once it has been imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ashore.fix.record.recorder import Recorder
from ashore.fix.source import Unreadable


def _torch(recorder: Recorder, torch: Any) -> None:
    from ashore.fix.record.to_numpy import hook_json, hook_tensors
    from ashore.fix.record.torch_calls import hook_calls

    hook_tensors(recorder, torch)
    hook_calls(recorder, torch)
    hook_json(recorder)


def _image(recorder: Recorder, image: Any) -> None:
    from ashore.fix.record.to_numpy import hook_images

    hook_images(recorder, image)


def _pytest(recorder: Recorder, rewrite: Any) -> None:
    """Instrument test modules, which pytest compiles itself; nothing of it goes into its cache."""
    own = rewrite.rewrite_asserts

    def rewrite_asserts(tree: Any, source: bytes, path: str | None = None, *rest: Any) -> None:
        name = str(path)
        if path is not None and recorder.settings.owns(os.path.abspath(name)):
            with suppress(Unreadable):
                tree.body = recorder.files.instrument(os.path.abspath(name), name, source).body
        own(tree, source, path, *rest)

    sys.dont_write_bytecode = True
    rewrite.rewrite_asserts = rewrite_asserts
    rewrite._read_pyc = lambda *args, **options: None


AFTER_IMPORT: dict[str, Callable[[Recorder, Any], None]] = {
    "torch": _torch,
    "PIL.Image": _image,
    "_pytest.assertion.rewrite": _pytest,
}
