# Types for the stubs of ashore._core, whose hot functions speak CPython's calling convention. Read by ./dev stubs.

ashore._core.to_numpy:
    \from typing import Any, Literal
    \from numpy.typing import DTypeLike, NDArray
    def to_numpy(x: Any, *, copy: bool | None = None, dtype: DTypeLike | None = None, order: Literal["K", "C"] = "K", out: NDArray[Any] | None = None) -> Any:
        \doc

ashore._core.to_torch:
    \from typing import Any
    def to_torch(x: Any, *, device: Any = None, dtype: Any = None, copy: bool | None = None, requires_grad: bool = False) -> Any:
        \doc

ashore._core.tensors_to_numpy:
    \from typing import Any
    \from numpy.typing import DTypeLike, NDArray
    def tensors_to_numpy(*tensors: Any, copy: bool | None = None, dtype: DTypeLike | None = None) -> tuple[NDArray[Any], ...]:
        \doc

ashore._core.to_image:
    \from typing import Any, Literal
    \from numpy import uint8
    \from numpy.typing import NDArray
    def to_image(x: Any, *, layout: Literal["CHW", "HWC"] | None = None, value_range: tuple[float, float] | None = None, channels: Literal["rgb", "bgr"] = "rgb") -> NDArray[uint8]:
        \doc

ashore._core.plan_entries:
    \from typing import Any
    def plan_entries(x: Any, *, copy: bool | None = None, dtype: Any = None, order: str = "K") -> list[tuple[Any, ...]]:
        \doc
