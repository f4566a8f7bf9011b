"""A DLPack producer in Python whose every field a test may bend (contract N9).

The structs are those of the DLPack specification, written down once more, so that the tests do not
take the core's word for them.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

CPU, CUDA, CUDA_HOST, OPENCL, ROCM_HOST, EXT_DEV, CUDA_MANAGED = 1, 2, 3, 4, 11, 12, 13
INT, UINT, FLOAT, HANDLE, BFLOAT, COMPLEX, BOOL = range(7)
READ_ONLY, IS_COPIED, SUB_BYTE_PADDED = 1, 2, 4

CODES: dict[str, tuple[int, int]] = {
    "bool": (BOOL, 8),
    **{f"int{n}": (INT, n) for n in (8, 16, 32, 64)},
    **{f"uint{n}": (UINT, n) for n in (8, 16, 32, 64)},
    **{f"float{n}": (FLOAT, n) for n in (16, 32, 64)},
    "bfloat16": (BFLOAT, 16),
    "complex64": (COMPLEX, 64),
    "complex128": (COMPLEX, 128),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
}

_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_TENSOR = [
    ("data", ctypes.c_void_p),
    ("device", ctypes.c_int32 * 2),
    ("ndim", ctypes.c_int32),
    ("code", ctypes.c_uint8),
    ("bits", ctypes.c_uint8),
    ("lanes", ctypes.c_uint16),
    ("shape", ctypes.POINTER(ctypes.c_int64)),
    ("strides", ctypes.POINTER(ctypes.c_int64)),
    ("byte_offset", ctypes.c_uint64),
]


class Managed(ctypes.Structure):
    _fields_ = [*_TENSOR, ("context", ctypes.c_void_p), ("free", _FREE)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("free", _FREE),
        ("flags", ctypes.c_uint64),
        *_TENSOR,
    ]


# Structs that somebody still has to free, with their producers.
_alive: dict[int, tuple[Producer, Any]] = {}
_never_freed: list[Any] = []


@_FREE
def _free(struct: int) -> None:
    producer, _ = _alive.pop(struct)
    producer.freed += 1
    if producer.on_free is not None:
        producer.on_free()


def capsule(struct: int, name: bytes) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    return new(struct, name, None)


class Producer:
    """Export an array, or with `bent` fields what no good producer would.

    `freed` counts calls of the deleter, `asked` those of `__dlpack__`, `keywords` has what the last
    one was called with.
    """

    on_free: Any = None

    def __init__(self, array: Any = None, *, versioned: bool = True, **bent: Any) -> None:
        self.array = np.arange(6, dtype=np.float32).reshape(2, 3) if array is None else array
        self.freed = self.asked = 0
        self.keywords: dict[str, Any] | None = None
        name = self.array.dtype.name
        code, bits = CODES.get(name, (FLOAT, 32))
        self.fields: dict[str, Any] = {
            "data": self.array.__array_interface__["data"][0],
            "device": (CPU, 0),
            "ndim": self.array.ndim,
            "code": code,
            "bits": bits,
            "lanes": 1,
            "shape": self.array.shape,
            "strides": tuple(s // self.array.itemsize for s in self.array.strides),
            "byte_offset": 0,
            "version": (1, 1),
            "flags": 0 if self.array.flags.writeable else READ_ONLY,
            "free": _free,
            "name": b"dltensor_versioned" if versioned else b"dltensor",
            "says_device": None,
            **bent,
        }
        self.versioned = versioned

    def struct(self) -> Managed | Versioned:
        """Make the struct; whoever takes it must run its deleter."""
        fields = self.fields
        made = Versioned() if self.versioned else Managed()
        for name, _ in type(made)._fields_:
            value = fields.get(name)
            if name in ("shape", "strides") and value is not None:
                extents = (ctypes.c_int64 * max(1, len(value)))(*value)
                value = ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64))
            if value is not None:
                setattr(made, name, value)
        if fields["free"] is not None:
            _alive[ctypes.addressof(made)] = self, made
        else:
            _never_freed.append(made)
        return made

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self.fields["says_device"] or self.fields["device"]
        return device

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked += 1
        self.keywords = keywords
        return capsule(ctypes.addressof(self.struct()), self.fields["name"])
