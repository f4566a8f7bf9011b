"""Hooks where a tensor becomes an array or plain values: they record, convert, and go on."""

from __future__ import annotations

import functools
from typing import Any

from ashore.fix.record.needs import made_safe, needs_of
from ashore.fix.record.recorder import Recorder

_COMPARED = ("__lt__", "__le__", "__gt__", "__ge__")
_OPERATORS = """__add__ __sub__ __mul__ __truediv__ __pow__ __matmul__ __radd__ __rsub__
__rmul__ __rtruediv__ __rfloordiv__ __rmod__ __rpow__ __rmatmul__ __lt__ __le__ __gt__ __ge__"""


def hook_tensors(recorder: Recorder, torch: Any) -> None:
    """Hook the ways from a tensor to NumPy."""
    import numpy as np

    tensor_type = torch.Tensor
    recorder.watch.tensor_type = tensor_type
    recorder.watch.array_type = np.ndarray
    own_numpy, own_array = tensor_type.numpy, tensor_type.__array__

    @functools.wraps(own_numpy)
    def numpy(self: Any, *, force: bool = False) -> Any:
        needs = needs_of(self)
        if recorder.busy or not needs or (force and needs != {"float"}):
            return own_numpy(self, force=force)
        note = recorder.meets_numpy(self, "numpy", needs)
        return recorder.writes.array_of(self, note)

    @functools.wraps(own_array)
    def array(self: Any, *args: Any, **options: Any) -> Any:
        needs = needs_of(self)
        if recorder.busy or not needs:
            return own_array(self, *args, **options)
        note = recorder.meets_numpy(self, "array", needs)
        dtype = args[0] if args else options.get("dtype")
        made = recorder.writes.array_of(self, note)
        return made if dtype is None else made.astype(dtype, copy=False)

    def array_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        own = getattr(func, "_implementation", func)
        try:
            return own(*args, **kwargs)
        except TypeError:
            if recorder.busy:
                raise

            def converted(value: Any) -> Any:
                if not isinstance(value, tensor_type):
                    return value
                recorder.meets_numpy(value, "function", {*needs_of(value), "numpy"})
                return _host_array(recorder, value)

            with_arrays = [converted(value) for value in args]
            return own(*with_arrays, **{name: converted(v) for name, v in kwargs.items()})

    tensor_type.numpy = numpy
    tensor_type.__array__ = array
    tensor_type.__array_function__ = array_function
    for name in _OPERATORS.split():
        _hook_operator(recorder, tensor_type, name)


def _host_array(recorder: Recorder, tensor: Any) -> Any:
    with recorder.at_work():
        return made_safe(tensor).numpy()


def _hook_operator(recorder: Recorder, tensor_type: Any, name: str) -> None:
    """Hook `array * tensor`, which Python refuses with words that do not tell the cause."""
    import numpy as np

    own = getattr(tensor_type, name)
    reflected = name.startswith("__r")
    of_array = getattr(np.ndarray, f"__{name[3:]}" if reflected else name)

    @functools.wraps(own)
    def operator(self: Any, other: Any) -> Any:
        if not isinstance(other, np.ndarray) or recorder.busy:
            return own(self, other)
        if recorder.gradients is not None:
            done = recorder.gradients.operate(own, self, other, name)
            if done is not None:
                return done
        elif not reflected and name not in _COMPARED:
            return own(self, other)  # asks for the tensor's array itself
        try:
            with recorder.at_work():
                done = own(self, other)
            if done is not NotImplemented:
                return done
        except (TypeError, RuntimeError):
            pass
        recorder.meets_numpy(self, "operator", {*needs_of(self), "numpy"}, name)
        made = _host_array(recorder, self)
        return of_array(other, made) if reflected else getattr(made, name)(other)

    setattr(tensor_type, name, operator)


def hook_json(recorder: Recorder) -> None:
    """Hook what json does with objects that it does not know."""
    import json

    own = json.JSONEncoder.default

    @functools.wraps(own)
    def default(self: Any, value: Any) -> Any:
        if not isinstance(value, recorder.watch.tensor_type) or recorder.busy:
            return own(self, value)
        plain = "item" if value.ndim == 0 else "tolist"
        recorder.meets_numpy(value, "json", {plain})
        with recorder.at_work():
            return value.tolist()

    setattr(json.JSONEncoder, "default", default)  # noqa: B010 – mypy has another type for it


def hook_images(recorder: Recorder, image: Any) -> None:
    """Hook PIL.Image.fromarray, which asks a tensor for an interface that it does not have."""
    own = image.fromarray

    @functools.wraps(own)
    def fromarray(value: Any, *args: Any, **options: Any) -> Any:
        if isinstance(value, recorder.watch.tensor_type) and not recorder.busy:
            recorder.meets_numpy(value, "image", {*needs_of(value), "numpy"})
            value = _host_array(recorder, value)
        return own(value, *args, **options)

    image.fromarray = fromarray
