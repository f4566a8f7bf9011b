"""The native core of ashore."""

from typing import Any, overload

import numpy
from numpy.typing import DTypeLike, NDArray
import torch


def version() -> str:
    """Return the version of the core."""

def simd_level() -> str:
    """
    Return the level of vector instructions in use: baseline, avx2 or avx512. The environment variable
    ASHORE_SIMD forces one.
    """

def get_num_threads() -> int:
    """
    Return how many threads one conversion uses at most, the calling one included.
    """

def set_num_threads(count: int) -> None:
    """
    Use at most `count` threads for each conversion from now on, the calling one included.

    At first it is the number of CPUs that the process may use (affinity, control groups), at most 16, and at
    most OMP_NUM_THREADS where that is set.
    """

def set_leak_warnings(on: bool) -> None:
    """Say at exit which of the module's own objects are left; for tests."""

@overload
def to_numpy(x: torch.Tensor | NDArray[Any] | numpy.generic | complex, *, copy: bool | None = None, dtype: DTypeLike | str | None = None, order: str = "K", out: NDArray[Any] | None = None) -> NDArray[Any]:
    """
    Bring a tensor, an array, a number or a container of them ashore.

    Returns an ndarray, or the same container with ndarrays in it. Memory is shared whenever nothing has to change
    (`copy=None`), never (`True`), or always (`False`: ValueError where a copy is unavoidable). `dtype` is a NumPy
    dtype or an ml_dtypes name; `order` is 'K' (the source's own) or 'C'; `out` is an existing array to fill.
    Gradients are detached, conj and neg bits resolved, device tensors copied once and completely.
    """
@overload
def to_numpy(x: Any, *, copy: bool | None = None, dtype: DTypeLike | str | None = None, order: str = "K", out: NDArray[Any] | None = None) -> Any: ...

@overload
def to_torch(x: torch.Tensor | NDArray[Any] | numpy.generic | complex, *, device: str | torch.device | None = None, dtype: torch.dtype | str | None = None, copy: bool | None = None, requires_grad: bool = False) -> torch.Tensor:
    """
    Make a torch tensor of an array, a tensor, a number or a container of them.

    Memory is shared whenever nothing has to change; `copy=False` raises ValueError where a copy is unavoidable
    (read-only memory, negative strides, foreign byte order, another dtype or device). `requires_grad=True` gives
    a leaf. A tensor that needs no change is returned as it is.
    """
@overload
def to_torch(x: Any, *, device: str | torch.device | None = None, dtype: torch.dtype | str | None = None, copy: bool | None = None, requires_grad: bool = False) -> Any: ...

def tensors_to_numpy(*tensors: Any, copy: bool | None = None, dtype: DTypeLike | str | None = None) -> tuple[NDArray[Any], ...]:
    """Bring several tensors ashore; returns a tuple of ndarrays, in order."""

def to_image(x: Any, *, layout: str | None = None, value_range: tuple[float, float] | None = None, channels: str = "rgb") -> NDArray[numpy.uint8]:
    """
    Make a uint8 image (H, W, C), or a batch (N, H, W, C), of a CHW or HWC tensor or array, row-major, in one pass.

    Floats are scaled from `value_range` (default (0, 1)) to 0..255, rounded half to even and clamped; NaN becomes 0.
    uint8 is taken as it is, other integers need `value_range`. `channels='bgr'` is OpenCV's order.
    """

def plan_entries(x: Any, *, copy: bool | None = None, dtype: DTypeLike | str | None = None, order: str = "K") -> list[tuple[Any, ...]]:
    """Return the rows of `ashore.plan`: one tuple for each array of `x`."""
