"""What has to be changed in PyTorch's Python code so that its CPU build passes for the CUDA build;
each change is one function, run by `_loader` right after the module's own code.

A PyTorch built with CUDA would need only `_use_native_rnn`, `_have_no_nccl`,
`_count_devices_without_nvml` and `_note_saved_tensor_hooks`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

CUDA_VERSION = "13.0"
_NOT_SHARED = (
    "ashore's emulated GPU does not share CUDA tensors between processes: send tensor.cpu() and "
    "move it to the device at the other end"
)
_NO_TRITON = (
    "the emulated GPU cannot run the Triton code that inductor writes: use "
    'torch.compile(…, backend="aot_eager") or backend="eager"'
)


def _tell_cuda_version(version: Any) -> None:
    """Fill torch.version.cuda in; much code takes None for a build without CUDA."""
    if version.cuda is None:
        version.cuda = CUDA_VERSION


def _count_devices_without_nvml(cuda: Any) -> None:
    """Let the NVML count be ours: it would be that of the machine's own GPUs, which are hidden.

    As on a machine with NVML, torch.cuda.device_count() then leaves forked children able to use the
    device, whereas is_available() and every use of the device do not.
    """
    from ashore.emulate._loader import visible_devices

    cuda._device_count_nvml = visible_devices
    cuda._raw_device_count_nvml = visible_devices


def _use_native_rnn(cudnn: Any) -> None:
    """Let nn.RNN and its kin take PyTorch's own kernels: there are none of cuDNN's."""
    cudnn.is_acceptable = lambda tensor: False


def _have_no_nccl(nccl: Any) -> None:
    """Let DataParallel reduce gradients by copies."""
    nccl.is_available = lambda tensors: False


def _make_cuda_storages(storage: Any) -> None:
    """Make, resize and refuse to share storages on the device.

    The CPU build of libtorch_python has the CUDA branches of these methods compiled out.
    """
    untyped = storage.UntypedStorage
    native_new, native_resize = untyped.__new__, untyped.resize_

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        torch = sys.modules["torch"]
        device = kwargs.get("device")
        if device is None or torch.device(device).type != "cuda":
            return native_new(cls, *args, **kwargs)
        return _new_on_device(torch, torch.device(device), args, kwargs)

    def resize_(self: Any, size: int) -> Any:
        if self.device.type != "cuda":
            return native_resize(self, size)
        sys.modules["torch"]._C._ashore_resize_storage(self, int(size))
        return self

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(_NOT_SHARED)

    untyped.__new__ = staticmethod(new)
    untyped.resize_ = resize_
    untyped._share_cuda_ = refuse
    untyped._new_shared_cuda = classmethod(refuse)
    untyped._release_ipc_counter_cuda = classmethod(refuse)


def _new_on_device(torch: Any, device: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Do what StorageBase's constructor does in the CUDA build: nothing, a size, or bytes."""
    content = args[0] if args else kwargs.get("size", 0)
    if isinstance(content, int):
        return torch.empty(content, dtype=torch.uint8, device=device).untyped_storage()
    return torch.tensor(content, dtype=torch.uint8, device=device).untyped_storage()


def _make_tensors_of_cuda_types(functional: Any) -> None:
    """Let torch.cuda.FloatTensor(…) and torch.set_default_tensor_type() have the CUDA types.

    They are there since torch._C was completed, and torch.functional is imported right after that.
    """
    torch = sys.modules["torch"]
    for kind in torch._tensor_classes:
        torch._C._ashore_enable_tensor_type(kind)


def _note_saved_tensor_hooks(autograd: Any) -> None:
    """Let backward passes that call Python's pack and unpack functions run in the device's thread.

    Others may stay in the calling thread (surface/backward.cpp).
    """
    bindings = sys.modules["torch"]._C
    bindings._ashore_note_saved_tensor_hooks(bindings._autograd)


def _name_the_backends_without_triton(exc: Any) -> None:
    """Let torch.compile's refusal name a way out that there is; to install Triton would be none."""

    def init(self: Any, first_useful_frame: Any) -> None:
        exc.ShortenTraceback.__init__(self, _NO_TRITON, first_useful_frame=first_useful_frame)

    exc.TritonMissing.__init__ = init


PATCHES: dict[str, Callable[[Any], None]] = {
    "torch.version": _tell_cuda_version,
    "torch.cuda": _count_devices_without_nvml,
    "torch.backends.cudnn": _use_native_rnn,
    "torch.cuda.nccl": _have_no_nccl,
    "torch.storage": _make_cuda_storages,
    "torch.autograd": _note_saved_tensor_hooks,
    "torch.functional": _make_tensors_of_cuda_types,
    "torch._inductor.exc": _name_the_backends_without_triton,
}
