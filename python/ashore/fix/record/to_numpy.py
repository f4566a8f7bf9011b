"""Hooks where a tensor becomes an array or plain values: they record, convert, and go on."""

from __future__ import annotations

import functools
from typing import Any

from ashore.fix.record.needs import made_safe, needs_of
from ashore.fix.record.recorder import Recorder

_REFLECTED = "__radd__ __rsub__ __rmul__ __rtruediv__ __rfloordiv__ __rmod__ __rpow__ __rmatmul__"
_COMPARED = "__lt__ __le__ __gt__ __ge__"


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
        recorder.meets_numpy(self, "numpy", needs)
        return _host_array(recorder, self)

    @functools.wraps(own_array)
    def array(self: Any, *args: Any, **options: Any) -> Any:
        needs = needs_of(self)
        if recorder.busy or not needs:
            return own_array(self, *args, **options)
        recorder.meets_numpy(self, "array", needs)
        dtype = args[0] if args else options.get("dtype")
        made = _host_array(recorder, self)
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
    for name in _REFLECTED.split():
        _hook_operator(recorder, tensor_type, name, operand=1)
    for name in _COMPARED.split():
        _hook_operator(recorder, tensor_type, name, operand=None)


def _host_array(recorder: Recorder, tensor: Any) -> Any:
    with recorder.at_work():
        return made_safe(tensor).numpy()


def _hook_operator(recorder: Recorder, tensor_type: Any, name: str, operand: int | None) -> None:
    """Hook `array * tensor`, which Python refuses with words that do not tell the cause."""
    import numpy as np

    own = getattr(tensor_type, name)
    word = name.strip("_")
    # NumPy's own method: a reflected one is asked of the array as the left side.
    of_array = getattr(np.ndarray, f"__{word[1:]}__" if operand == 1 else name)

    @functools.wraps(own)
    def operator(self: Any, other: Any) -> Any:
        if not isinstance(other, np.ndarray) or recorder.busy:
            return own(self, other)
        try:
            with recorder.at_work():
                done = own(self, other)
            if done is not NotImplemented:
                return done
        except (TypeError, RuntimeError):
            pass
        needs = {*needs_of(self), "numpy"}
        recorder.meets_numpy(self, "operator", needs, operand=operand)
        made = _host_array(recorder, self)
        return of_array(other, made) if operand == 1 else getattr(made, name)(other)

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

    json.JSONEncoder.default = default  # type: ignore[method-assign]


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
