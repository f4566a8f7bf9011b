"""Which library gets which hooks, once it has been imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ashore.fix.record.recorder import Recorder


def _torch(recorder: Recorder, torch: Any) -> None:
    from ashore.fix.record.to_numpy import hook_json, hook_tensors
    from ashore.fix.record.torch_calls import hook_calls

    hook_tensors(recorder, torch)
    hook_calls(recorder, torch)
    hook_json(recorder)


def _image(recorder: Recorder, image: Any) -> None:
    from ashore.fix.record.to_numpy import hook_images

    hook_images(recorder, image)


AFTER_IMPORT: dict[str, Callable[[Recorder, Any], None]] = {
    "torch": _torch,
    "PIL.Image": _image,
}
