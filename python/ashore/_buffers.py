"""Buffers of ctypes records: NumPy reads their formats wrongly, with a warning.

They go by their class instead. Called from `bindings/arrive_protocol.cpp` alone, for a buffer
whose format is a record's.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def of_ctypes(memory: memoryview) -> Any:
    """Return the array of a ctypes object's buffer; None where the buffer is not one's.

    Raises TypeError where it is but a part of one, or of a class that has no dtype.
    """
    ctypes = sys.modules.get("_ctypes")
    kind: Any = type(memory.obj)
    shape = []
    while ctypes is not None and issubclass(kind, ctypes.Array):
        shape.append(kind._length_)
        kind = kind._type_
    if ctypes is None or not issubclass(kind, (ctypes.Structure, ctypes.Union)):
        return None
    if memory.shape != tuple(shape) or not memory.c_contiguous:
        raise TypeError("a part of an array of ctypes records is no array; convert the whole")
    return np.ndarray(tuple(shape), np.dtype(kind), memory)
