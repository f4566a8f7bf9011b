"""The conversions as static methods of one class, for code that passes a converter around."""

from __future__ import annotations

from ashore import _core


class TensorConverter:
    """`to_numpy`, `to_torch` and `tensors_to_numpy` under one name."""

    to_numpy = staticmethod(_core.to_numpy)
    to_torch = staticmethod(_core.to_torch)
    tensors_to_numpy = staticmethod(_core.tensors_to_numpy)
