"""PyTorch's Python surface, for the native core: what its C exchange API does not say or do.

Called from the bindings alone, off the hot path: tensors that the fast path could not read,
refusals with their reasons, the framework's own copies (contract N4), and the making of tensors.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import torch

from ashore._text import class_name, one_line

# Every dtype that PyTorch has in common with the core, by the core's name for it. What is missing
# here has no twin.
_SHARED_NAMES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex32 complex64 "
    "complex128 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
).split()
DTYPES: dict[str, torch.dtype] = {n: getattr(torch, n) for n in _SHARED_NAMES if hasattr(torch, n)}
NAMES: dict[torch.dtype, str] = {dtype: name for name, dtype in DTYPES.items()}

HOST = torch.device("cpu")

# Dtypes that `Tensor.numpy` takes.
_NUMPY_NAMES = (
    "bool int8 int16 int32 int64 uint8 float16 float32 float64 complex64 complex128"
).split()
NUMPY_DTYPES: frozenset[torch.dtype] = frozenset(DTYPES[n] for n in _NUMPY_NAMES)

# Dtypes that carry the bits of those that `Tensor.numpy` and `torch.from_numpy` do not take, by
# item size.
CARRIERS: dict[int, torch.dtype] = {
    1: torch.uint8,
    2: torch.int16,
    4: torch.int32,
    8: torch.int64,
    16: torch.complex128,
}


@contextlib.contextmanager
def _without_overrides() -> Iterator[None]:
    """Run PyTorch's own code, whatever subclasses, modes and function transforms are active."""
    with contextlib.ExitStack() as stack:
        for guard in ("DisableTorchFunction", "_DisableTorchDispatch", "_DisableFuncTorch"):
            if hasattr(torch._C, guard):
                stack.enter_context(getattr(torch._C, guard)())
        yield


def _overrides_off_for(tensor: torch.Tensor) -> contextlib.AbstractContextManager[None]:
    """Do the same for tensors of PyTorch's own class; others may need their own code to work."""
    return _without_overrides() if _is_plain(tensor) else contextlib.nullcontext()


def _is_plain(tensor: torch.Tensor) -> bool:
    return type(tensor) is torch.Tensor or type(tensor) is torch.nn.Parameter


def _refuse(message: str) -> NoReturn:
    raise TypeError(one_line(message))


def _transform(tensor: torch.Tensor) -> str | None:
    """Name the function transform that wraps this tensor, if one does."""
    functorch = getattr(torch._C, "_functorch", None)
    if functorch is not None:
        if functorch.is_batchedtensor(tensor):
            return "vmap"
        if functorch.is_gradtrackingtensor(tensor):
            return "grad"
        if functorch.is_functionaltensor(tensor):
            return "functionalize"
    is_functional = getattr(torch, "_is_functional_tensor", None)
    return "functionalize" if is_functional is not None and is_functional(tensor) else None


def _refuse_without_memory(tensor: torch.Tensor) -> NoReturn:
    _refuse(
        f"{class_name(type(tensor))} has no memory of its own to read (a wrapper, a fake tensor or "
        f"a freed storage); "
        "convert the tensor that it stands for"
    )


def _refuse_meta() -> NoReturn:
    _refuse("a tensor on the meta device has a shape but no data; make it on a real device")


def _refuse_masked(tensor: torch.Tensor) -> None:
    module = sys.modules.get("torch.masked.maskedtensor.core")
    if module is not None and isinstance(tensor, module.MaskedTensor):
        _refuse(
            f"{class_name(type(tensor))} would lose its mask; take .get_data() and .get_mask(), "
            "or .to_tensor(value)"
        )


def _is_fake(tensor: torch.Tensor) -> bool:
    module = sys.modules.get("torch._subclasses.fake_tensor")
    return module is not None and isinstance(tensor, module.FakeTensor)


def _is_uninitialized(tensor: torch.Tensor) -> bool:
    module = sys.modules.get("torch.nn.parameter")
    return module is not None and isinstance(tensor, module.UninitializedTensorMixin)


def address(tensor: torch.Tensor) -> int:
    """Return the address of the first element; 0 where there is no memory."""
    with _without_overrides():
        try:
            return torch.Tensor.data_ptr(tensor)
        except (RuntimeError, NotImplementedError):
            return 0


def _reaches_past_storage(tensor: torch.Tensor) -> bool:
    """Say whether elements lie outside the storage, as a shrunk one or a refused resize_ leaves
    them."""
    lengths = zip(torch.Tensor.size(tensor), torch.Tensor.stride(tensor), strict=True)
    last = sum((length - 1) * stride for length, stride in lengths)
    end = (torch.Tensor.storage_offset(tensor) + last + 1) * tensor.element_size()
    return tensor.numel() > 0 and end > torch.Tensor.untyped_storage(tensor).nbytes()


def describe(
    tensor: torch.Tensor,
) -> tuple[str, tuple[int, ...], tuple[int, ...], int, bool, bool, bool, bool]:
    """Return (dtype name, shape, strides in elements, address, on device, conj bit, neg bit,
    zeros) of a tensor.

    Raises TypeError with the reason where the tensor has no array form (contract N10).
    """
    transform = _transform(tensor)
    if transform is not None:
        _refuse(
            f"a tensor inside torch.func.{transform} has no memory of its own; convert it "
            f"outside the function that "
            f"{transform} runs"
        )
    if _is_uninitialized(tensor):
        _refuse(
            f"{class_name(type(tensor))} is not initialized and has no memory yet; run the module "
            f"once, then convert"
        )
    _refuse_masked(tensor)
    with _without_overrides():
        if tensor.is_nested or str(tensor.layout) == "torch.jagged":
            _refuse(
                "a nested tensor has rows of different lengths; take .unbind() or "
                "torch.nested.to_padded_tensor()"
            )
        if tensor.layout != torch.strided:
            _refuse(
                f"a tensor of layout {str(tensor.layout).removeprefix('torch.')} has no dense "
                f"memory; call .to_dense()"
            )
        if tensor.is_quantized:
            _refuse(
                "a quantized tensor is numbers and a scale; call .dequantize() for the "
                "values, .int_repr() for the bits"
            )
        if tensor.device.type == "meta":
            _refuse_meta()
        if _is_fake(tensor) or hasattr(type(tensor), "__tensor_flatten__"):
            _refuse_without_memory(tensor)
        name = NAMES.get(tensor.dtype)
        if name is None:
            _refuse(f"{tensor.dtype} has no NumPy twin; convert the tensor to another dtype first")
        # What is read is asked of PyTorch's own class: a subclass may tell whatever it likes.
        conj, neg = torch.Tensor.is_conj(tensor), torch.Tensor.is_neg(tensor)
        zeros = bool(getattr(tensor, "_is_zerotensor", bool)())
        on_device = tensor.device.type != "cpu"
        first = 0 if zeros else address(tensor)
        if first and not on_device and _reaches_past_storage(tensor):
            _refuse_without_memory(tensor)
        # A device tensor of PyTorch's own class may keep its address to itself; any other without
        # memory is a wrapper.
        if not first and not zeros and tensor.numel() and not (on_device and _is_plain(tensor)):
            _refuse_without_memory(tensor)
        shape, strides = torch.Tensor.size(tensor), torch.Tensor.stride(tensor)
        return name, tuple(shape), tuple(strides), first, on_device, conj, neg, zeros


def samples() -> tuple[torch.Tensor, ...]:
    """Return tensors with and without the neg bit and a gradient, of both classes that the hot
    path takes."""
    with _without_overrides():
        pair = torch.zeros(1, dtype=torch.complex64, device="cpu")
        leaf = torch.zeros(1, device="cpu", requires_grad=True)
        parameter = torch.nn.Parameter(torch.zeros(1, device="cpu"))
        return pair, pair.imag, pair.conj().imag, leaf, leaf.detach(), parameter, pair.conj()


def fetch(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a device tensor to the host with PyTorch's own blocking copy."""
    with _overrides_off_for(tensor), torch.no_grad():
        return tensor.detach().cpu()


def lock(tensor: torch.Tensor) -> torch.UntypedStorage:
    """Mark the storage of a host tensor as not resizable, whatever the tensor's dtype, class or
    state; return it.

    `Tensor.numpy` is the only public way to do that, so a plain tensor on the same storage calls
    it.
    """
    with _without_overrides(), torch.no_grad():
        storage = torch.Tensor.untyped_storage(tensor)  # not what a subclass makes of it
        if storage.resizable():
            torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage).numpy()
        if storage.resizable():
            raise RuntimeError(
                "PyTorch left the tensor's storage resizable, so its memory cannot be "
                "shared; pass copy=True"
            )
        return storage


def empty_guarded(
    shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype
) -> torch.Tensor:
    """Return a new host tensor with memory where a mode of PyTorch would make another kind."""
    with _without_overrides():
        if dtype == torch.complex32:  # PyTorch warns that it is experimental
            carrier = torch.empty_strided(shape, strides, dtype=torch.int32, device=HOST)
            return carrier.view(dtype)
        return torch.empty_strided(shape, strides, dtype=dtype, device=HOST)


def wrap(array: Any, name: str) -> torch.Tensor:
    """Return a tensor on an ndarray's memory; the array has an integer dtype that carries the bits
    of dtype `name`."""
    with _without_overrides():
        return torch.from_numpy(array).view(DTYPES[name])


def leaf(tensor: torch.Tensor) -> torch.Tensor:
    """Return a leaf that requires grad on the memory of `tensor`: itself where it is one (contract
    T2)."""
    _refuse_masked(tensor)
    with _overrides_off_for(tensor):
        if tensor.requires_grad and tensor.is_leaf:
            return tensor
        return _bare(tensor).requires_grad_(True)


def _bare(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.is_inference() or torch.is_inference_mode_enabled():
        return tensor.detach()
    # An inference tensor and its views can never require grad; a new tensor on the same host
    # memory can.
    if tensor.device.type != "cpu":
        return tensor.clone()
    return wrap(tensor.view(CARRIERS[tensor.element_size()]).numpy(), NAMES[tensor.dtype])


def move(tensor: torch.Tensor, device: torch.device | None, copy: bool) -> torch.Tensor:
    """Copy a tensor to a device (None: its own) with PyTorch's own blocking copy, without its
    gradient. RuntimeError where the device cannot be reached, TypeError for what has no data."""
    _refuse_masked(tensor)
    with _overrides_off_for(tensor):
        target = tensor.device if device is None else device
        if tensor.device.type == "meta" and target.type != "meta":
            _refuse_meta()
        try:
            return tensor.detach().to(target, copy=copy)
        except torch.OutOfMemoryError:
            raise
        except (
            RuntimeError,
            AssertionError,
            NotImplementedError,
            ValueError,
            ImportError,
        ) as error:
            if target == tensor.device:
                describe(tensor)  # gives the reason where the tensor is of a kind that cannot
                raise
            raise RuntimeError(
                f"device {str(target)!r} cannot be reached: {_first_line(error)}"
            ) from None


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def parse_device(given: Any) -> torch.device:
    """Read what `device=` was given. ValueError where it names no device, RuntimeError where it
    has no memory."""
    device = given
    if isinstance(given, str):
        with contextlib.suppress(RuntimeError):
            device = torch.device(given)
    if not isinstance(device, torch.device):
        raise ValueError(
            one_line(f"device={given!r} names no device")
            + "; pass 'cpu', 'cuda', 'cuda:1', 'mps' or a torch.device"
        )
    if device.type == "meta":
        raise RuntimeError("device 'meta' cannot be reached: it has no memory")
    return device


def is_on(tensor: torch.Tensor, device: torch.device) -> bool:
    """Say whether the tensor is on that device; a device without an index means the current one."""
    with _without_overrides():
        have = tensor.device
    if have.type != device.type or device.type == "cpu":
        return have.type == device.type
    wanted = _current_index(device.type) if device.index is None else device.index
    return (have.index or 0) == wanted


def device_of(tensor: torch.Tensor) -> torch.device | None:
    """Return the tensor's device, or None for the host."""
    with _without_overrides():
        return None if tensor.device.type == "cpu" else tensor.device


def _current_index(kind: str) -> int:
    module = getattr(torch, kind, None)
    return (
        int(module.current_device())
        if module is not None and hasattr(module, "current_device")
        else 0
    )


def parse_dtype(given: Any) -> str:
    """Read what `dtype=` was given; return the core's name for it. TypeError where it is no dtype
    that crosses."""
    dtype = given
    if isinstance(given, str):
        dtype = vars(torch).get(given.removeprefix("torch."))
        if given.isidentifier() and dtype is None:
            _refuse(f"the installed torch {torch.__version__} has no dtype {given}")
    if not isinstance(dtype, torch.dtype):
        _refuse(
            f"dtype={given!r} is no torch dtype; pass a torch.dtype or its name, such as 'float32'"
        )
    name = NAMES.get(dtype)
    if name is None:
        _refuse(f"{dtype} has no NumPy twin; pass another dtype")
    return name


def dtype_name(tensor: torch.Tensor) -> str:
    """Return the core's name for a tensor's dtype, or PyTorch's own where the core has none."""
    with _without_overrides():
        dtype = tensor.dtype
    return NAMES.get(dtype) or str(dtype).removeprefix("torch.")


def default_dtypes() -> tuple[str, str]:
    """Return the names of the dtypes that Python floats and complex numbers become."""
    real = torch.get_default_dtype()
    return NAMES[real], {"float16": "complex32", "float64": "complex128"}.get(
        NAMES[real], "complex64"
    )


def require_grad(tensor: torch.Tensor) -> torch.Tensor:
    """Make a new tensor a leaf that requires grad."""
    with _overrides_off_for(tensor):
        return tensor.requires_grad_(True)
