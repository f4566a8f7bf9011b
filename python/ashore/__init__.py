"""Bring tensors ashore: from any device to NumPy and back, right for every tensor.

The functions live in the native module `ashore._core`, which is loaded when the first of them is
used; importing this package loads neither it nor NumPy nor any framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ashore import emulate, evaluation
    from ashore._core import (
        get_num_threads,
        set_num_threads,
        tensors_to_numpy,
        to_image,
        to_numpy,
        to_torch,
    )
    from ashore._plan import Plan, plan
    from ashore.converter import TensorConverter

    __version__: str

# Where each public name lives; all of them are loaded when the first is used (PEP 562).
_HOMES = {
    "Plan": "_plan",
    "TensorConverter": "converter",
    "emulate": "",
    "evaluation": "",
    "get_num_threads": "_core",
    "plan": "_plan",
    "set_num_threads": "_core",
    "tensors_to_numpy": "_core",
    "to_image": "_core",
    "to_numpy": "_core",
    "to_torch": "_core",
}

__all__ = [
    "Plan",
    "TensorConverter",
    "emulate",
    "evaluation",
    "get_num_threads",
    "plan",
    "set_num_threads",
    "tensors_to_numpy",
    "to_image",
    "to_numpy",
    "to_torch",
]


def __getattr__(name: str) -> Any:
    if name == "emulate":  # before the rest, which may not be built yet where one only emulates
        from importlib import import_module

        return import_module("ashore.emulate")
    if name not in _HOMES and name != "__version__":
        raise AttributeError(f"module 'ashore' has no attribute {name!r}")
    return _load()[name]


def _load() -> dict[str, Any]:
    """Bind every public name and drop `__getattr__`.

    CPython looks attributes up the slow way in a module that has one: 50 ns for each
    `ashore.to_numpy`, a seventh of a call.
    """
    from importlib import import_module

    names = globals()
    for name, home in _HOMES.items():
        module = import_module(f"ashore.{home or name}")
        names[name] = getattr(module, name) if home else module
    names["__version__"] = import_module("ashore._core").version()
    names.pop("__getattr__", None)
    return names


def load_ipython_extension(shell: Any) -> None:
    """Explain errors in a notebook's cells: `%load_ext ashore` calls this."""
    from ashore.explain.live import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """End that: `%unload_ext ashore` calls this."""
    from ashore.explain.live import unload

    unload(shell)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
