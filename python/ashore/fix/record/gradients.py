"""Find where a gradient goes through NumPy: there the operation has to become torch's.

In a recording of its own: NumPy's functions that the program calls with a tensor that has a
gradient are done by torch, and a hook on the result tells whether a backward() came by.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ashore.fix.record.instrument import place_of

if TYPE_CHECKING:
    from ashore.fix.record.recorder import Recorder

_SAME = """abs absolute exp log log2 log10 log1p expm1 sqrt square sin cos tan tanh sinh cosh arctan
sign sum mean prod maximum minimum power multiply add subtract divide true_divide negative clip
where dot matmul outer cumsum max min amax amin std var linalg.norm floor ceil stack squeeze reshape
transpose""".split()
_OTHER = {"concatenate": "cat", "asarray": "stack", "array": "stack", "max": "amax", "min": "amin"}
_OF_LISTS = ("sum", "mean", "prod", "max", "min", "stack", "concatenate", "asarray", "array")
_JOINING = ("stack", "concatenate", "asarray", "array")


class Gradients:
    """Do NumPy's functions by torch where a gradient is there, and note where it was asked for."""

    def __init__(self, recorder: Recorder) -> None:
        """Start before NumPy is imported."""
        self._recorder = recorder
        self._names: dict[int, str] | None = None

    def call(self, number: int, function: Any) -> Any:
        """Return the function, or one in its place that keeps gradients."""
        name = self._table().get(id(function))
        return function if name is None else partial(self._called, number, function, name)

    def _table(self) -> dict[int, str]:
        if self._names is None:
            import numpy as np

            self._names = {}
            for name in (*_SAME, *_OF_LISTS):
                function: Any = np
                for part in name.split("."):
                    function = getattr(function, part, None)
                if function is not None:
                    self._names.setdefault(id(function), name)
        return self._names

    def _called(self, number: int, function: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        import torch

        with self._recorder.at_work():
            first = args[0] if args else None
            if isinstance(first, list | tuple) and first and name in _OF_LISTS:
                if all(map(_has_gradient, first)):
                    try:
                        joined = (
                            torch.cat(first) if name == "concatenate" else torch.stack([*first])
                        )
                        made = joined if name in _JOINING else getattr(joined, name)(**kwargs)
                    except (RuntimeError, TypeError):
                        made = None
                    if made is not None:
                        return self._noted(number, made, {"list": name})
            elif any(map(_has_gradient, args)):
                made, arrays = _by_torch(name, args, kwargs)
                if made is not None:
                    word = _OTHER.get(name, name) if arrays is not None else name
                    return self._noted(number, made, {"function": word, "arrays": arrays})
        return function(*args, **kwargs)

    def operate(self, own: Callable[..., Any], tensor: Any, array: Any, name: str) -> Any:
        """Compute a tensor and an array by torch, if the tensor has a gradient; else None."""
        import torch

        from ashore.fix.record.blame import spots
        from ashore.fix.record.recorder import OPERATIONS, operands, side

        if not _has_gradient(tensor):
            return None
        with self._recorder.at_work():
            spot = next(spots(self._recorder.files), None)
            if spot is None or not isinstance(spot.node, OPERATIONS):
                return None
            moved = torch.as_tensor(array, dtype=tensor.dtype, device=tensor.device)
            try:
                made = own(tensor, moved)
            except (RuntimeError, TypeError):
                return None
            other = operands(spot.node)[1 - side(spot.node, name)]
            words = self._words(spot, other, tensor)
            at = {"operand": place_of(other), "dtype": str(tensor.dtype), "device": words}
            number = spot.file.numbers[spot.node]
            return self._noted(number, made, at)

    def _words(self, spot: Any, node: ast.expr, tensor: Any) -> str:
        from ashore.fix.record.place import device_words

        return device_words((spot, spot.file, [node]), tensor.device)

    def _noted(self, number: int, made: Any, how: dict[str, Any]) -> Any:
        if not made.requires_grad:
            return made
        file = self._recorder.files.of(number)
        node = file.node(number)

        def passed(_: Any) -> None:
            note = {
                "key": f"{file.path}:{place_of(node)}:gradient",
                "path": file.path,
                "digest": file.digest,
                "at": place_of(node),
                "how": "gradient",
                "callee": ast.unparse(node.func) if isinstance(node, ast.Call) else "",
                "needs": [],
                "grad": True,
                "inside": "",
                "targets": [],
                "outer": [],
                "torch": how,
            }
            self._recorder.tell(note)

        made.register_hook(passed)
        return made


def _has_gradient(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.requires_grad and torch.is_grad_enabled()


def _by_torch(name: str, args: Any, kwargs: Any) -> tuple[Any, list[int] | None]:
    """Return what torch makes of the arguments, and which of them had to become tensors."""
    import numpy as np
    import torch

    if name in ("asarray", "array"):
        return None, None
    like = next(value for value in args if _has_gradient(value))
    arrays = [at for at, value in enumerate(args) if isinstance(value, np.ndarray)]
    moved = [
        torch.as_tensor(v, dtype=like.dtype, device=like.device) if at in arrays else v
        for at, v in enumerate(args)
    ]
    function: Any = torch
    for part in _OTHER.get(name, name).split("."):
        function = getattr(function, part)
    if name in ("max", "min") and not kwargs and len(args) == 1:
        function = getattr(torch, name)
    try:
        return function(*moved, **kwargs), arrays
    except (RuntimeError, TypeError, ValueError):
        return None, None
