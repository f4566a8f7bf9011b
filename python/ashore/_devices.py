"""Memory on devices that PyTorch does not own: the framework that does copies it (N4, E2).

Called from `bindings/arrive_protocol.cpp` alone. A device pointer is never read here.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ashore._text import class_name, one_line


def fetch(source: Any, where: str) -> Any:
    """Return a host copy of a device object, made by its own framework or by PyTorch.

    Raises RuntimeError where no loaded framework reaches the device, TypeError or ValueError for a
    malformed interface.
    """
    interface = getattr(source, "__cuda_array_interface__", None)
    if interface is not None:
        _check_cuda_array_interface(source, interface)
    family = type(source).__module__.partition(".")[0]
    if family == "cupy":
        return source.get()
    if family == "numba" and hasattr(source, "copy_to_host"):
        return source.copy_to_host()
    if family in ("jax", "jaxlib"):
        return np.array(source)
    torch = sys.modules.get("torch")
    if interface is not None and torch is not None and torch.cuda.is_available():
        return torch.as_tensor(source, device="cuda").cpu()
    raise RuntimeError(
        f"the memory of {class_name(type(source))} is on {where}, and no loaded framework reaches "
        "it; copy it to the host with the library that made it"
    )


def _check_cuda_array_interface(source: Any, interface: Any) -> None:
    name = f"__cuda_array_interface__ of {class_name(type(source))}"
    if not isinstance(interface, dict):
        raise TypeError(f"{name} is no dict")
    shape, typestr, data = (interface.get(key) for key in ("shape", "typestr", "data"))
    if not isinstance(shape, tuple) or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise ValueError(one_line(f"{name} has a shape that is no tuple of lengths: {shape!r}"))
    try:
        np.dtype(typestr if isinstance(typestr, str) else "")
    except (TypeError, ValueError):
        raise TypeError(
            one_line(f"{name} has a typestr that NumPy does not know: {typestr!r}")
        ) from None
    if not (isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], int)):
        raise ValueError(
            one_line(f"{name} has data that is no (pointer, read-only) pair: {data!r}")
        )
