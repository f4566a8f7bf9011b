# Typed signatures of the functions that speak CPython's calling convention themselves, for nanobind's stub generator.

ashore._core.to_numpy$:
    \from typing import Any, overload
    \from numpy.typing import DTypeLike, NDArray
    \import numpy
    \import torch
    @overload
    def to_numpy(x: torch.Tensor | NDArray[Any] | numpy.generic | complex, *, copy: bool | None = None, dtype: DTypeLike | str | None = None, order: str = "K", out: NDArray[Any] | None = None) -> NDArray[Any]:
        \doc
    @overload
    def to_numpy(x: Any, *, copy: bool | None = None, dtype: DTypeLike | str | None = None, order: str = "K", out: NDArray[Any] | None = None) -> Any: ...

ashore._core.to_torch$:
    @overload
    def to_torch(x: torch.Tensor | NDArray[Any] | numpy.generic | complex, *, device: str | torch.device | None = None, dtype: torch.dtype | str | None = None, copy: bool | None = None, requires_grad: bool = False) -> torch.Tensor:
        \doc
    @overload
    def to_torch(x: Any, *, device: str | torch.device | None = None, dtype: torch.dtype | str | None = None, copy: bool | None = None, requires_grad: bool = False) -> Any: ...

ashore._core.tensors_to_numpy$:
    def tensors_to_numpy(*tensors: Any, copy: bool | None = None, dtype: DTypeLike | str | None = None) -> tuple[NDArray[Any], ...]:
        \doc

ashore._core.to_image$:
    def to_image(x: Any, *, layout: str | None = None, value_range: tuple[float, float] | None = None, channels: str = "rgb") -> NDArray[numpy.uint8]:
        \doc

ashore._core.plan_entries$:
    def plan_entries(x: Any, *, copy: bool | None = None, dtype: DTypeLike | str | None = None, order: str = "K") -> list[tuple[Any, ...]]:
        \doc
