"""Bring tensors ashore: from any device to NumPy and back, right for every tensor.

The functions live in the native module `ashore._core`, which is loaded when the first of them is
used; importing this
package loads neither it nor NumPy nor any framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ashore import evaluation
    from ashore._core import tensors_to_numpy, to_image, to_numpy, to_torch
    from ashore._plan import Plan, plan
    from ashore.converter import TensorConverter

    __version__: str

# Where each public name lives; loaded on first use (PEP 562).
_HOMES = {
    "Plan": "_plan",
    "TensorConverter": "converter",
    "evaluation": "",
    "plan": "_plan",
    "tensors_to_numpy": "_core",
    "to_image": "_core",
    "to_numpy": "_core",
    "to_torch": "_core",
}

__all__ = [
    "Plan",
    "TensorConverter",
    "evaluation",
    "plan",
    "tensors_to_numpy",
    "to_image",
    "to_numpy",
    "to_torch",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ashore import _core

        value: Any = _core.version()
    elif name in _HOMES:
        import importlib

        home = _HOMES[name]
        module = importlib.import_module(f"ashore.{home or name}")
        value = getattr(module, name) if home else module
    else:
        raise AttributeError(f"module 'ashore' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
