"""Hooks where torch is given what it cannot compute with: arrays, tensors of two devices or dtypes.

A call that fails is tried again with the culprits moved; what helped is recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from ashore.fix.record.blame import spots
from ashore.fix.record.instrument import place_of
from ashore.fix.record.place import device_words, locate
from ashore.fix.record.recorder import Recorder
from ashore.fix.record.watch import Wanted

_DTYPE_WORDS = (
    "same dtype",
    "expected scalar type",
    "and weight type",
    "expected m1 and m2",
    "dtype",
)
_MOST_TRIES = 3


def hook_calls(recorder: Recorder, torch: Any) -> None:
    """Watch all calls of torch in this thread, and modules in every one."""
    from torch.overrides import TorchFunctionMode

    class Repairing(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = kwargs or {}
            if recorder.writes.live and not recorder.busy:
                recorder.writes.arrive()
            try:
                return func(*args, **kwargs)
            except (RuntimeError, TypeError, IndexError) as error:
                if recorder.busy:
                    raise
                with recorder.at_work():
                    done, moves = _again(func, args, kwargs, error)
                    if not moves:
                        raise
                    name = getattr(func, "__name__", "")
                    for value, (at, to) in moves.values():
                        _record(recorder, value, to, at, name)
                return done

    mode: Any = Repairing()
    mode.__enter__()
    own_backward = torch.autograd.backward

    @functools.wraps(own_backward)
    def backward(*args: Any, **kwargs: Any) -> Any:
        recorder.goes_backward()
        return own_backward(*args, **kwargs)

    torch.autograd.backward = backward
    _hook_modules(recorder, torch)


Moves = dict[int, tuple[Any, tuple[int | None, dict[str, Any]]]]


def _again(func: Any, args: Any, kwargs: Any, error: Exception) -> tuple[Any, Moves]:
    """Call a function with its culprits moved; return what it gave and what had to be moved."""
    moves: Moves = {}
    reflected = getattr(func, "__name__", "").startswith("__r")
    for _ in range(_MOST_TRIES):
        given = dict(_tensors(args, kwargs))
        wanted = _wanted(getattr(func, "__name__", ""), given, args, moves, str(error))
        if not wanted:
            return None, {}
        for key, to in wanted.items():
            path, value = given[key]
            at: int | None = path
            if at is not None and reflected:
                at = 1 - at
            known = moves[key][1][1] if key in moves else {}
            moves[key] = (value, (at, {**known, **to}))
        moved_args, moved_kwargs = _moved(args, moves), _moved(kwargs, moves)
        try:
            return func(*moved_args, **moved_kwargs), moves
        except (RuntimeError, TypeError, IndexError) as another:
            error = another
    return None, {}


def _tensors(args: Any, kwargs: Any) -> Iterator[tuple[int, tuple[int | None, Any]]]:
    """Yield the tensors that a call is given, by id, with their place if it is one of the first."""
    import torch

    for at, value in [*enumerate(args), *((None, one) for one in kwargs.values())]:
        for one in _parts(value):
            if isinstance(one, torch.Tensor):
                yield id(one), (at if one is value else None, one)


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value, or what lies in a list or tuple."""
    if isinstance(value, list | tuple):
        yield from value
    else:
        yield value


def _wanted(
    name: str, given: dict[int, tuple[int | None, Any]], args: Any, moves: Moves, words: str
) -> dict[int, dict[str, Any]]:
    """Return what should be moved where: to the accelerator, but nothing that is written to."""
    import torch

    state = {}
    for key, (_, value) in given.items():
        to = moves[key][1][1] if key in moves else {}
        state[key] = (value, to.get("device", value.device), to.get("dtype", value.dtype))
    devices = {device for _, device, _ in state.values()}
    if len(devices) > 1:
        home = _home(name, args, state)
        return {k: {"device": home} for k, (_, device, _) in state.items() if device != home}
    if any(word in words for word in _DTYPE_WORDS):
        floats = {k: s for k, s in state.items() if s[2].is_floating_point}
        weights = [s[2] for s in floats.values() if isinstance(s[0], torch.nn.Parameter)]
        dtype = weights[0] if weights else torch.float32
        return {
            k: {"dtype": dtype}
            for k, (value, _, known) in floats.items()
            if known != dtype and not isinstance(value, torch.nn.Parameter)
        }
    return {}


def _home(name: str, args: Any, state: dict[int, Any]) -> Any:
    import torch

    in_place = name.startswith("__i") or name == "__setitem__"
    in_place |= name.endswith("_") and not name.endswith("__")
    if in_place and args and isinstance(args[0], torch.Tensor):
        return args[0].device
    for value, device, _ in state.values():
        if isinstance(value, torch.nn.Parameter):
            return device
    return next(device for _, device, _ in state.values() if device.type != "cpu")


def _moved(value: Any, moves: Moves) -> Any:
    if id(value) in moves:
        import torch

        to = moves[id(value)][1][1]
        return value.to(**to) if isinstance(value, torch.Tensor) else torch.as_tensor(value, **to)
    if type(value) in (list, tuple):
        return type(value)(_moved(one, moves) for one in value)
    if type(value) is dict:
        return {name: _moved(one, moves) for name, one in value.items()}
    return value


def _record(recorder: Recorder, value: Any, to: dict[str, Any], at: int | None, name: str) -> None:
    """Note that a tensor or an array has to be moved before torch takes it."""
    array = isinstance(value, recorder.watch.array_type)
    how = "module" if array else "device" if "device" in to else "dtype"
    found = locate(recorder, Wanted(recorder.watch, value), at, name)
    if found is None:
        spot = next(spots(recorder.files), None)
        if spot is not None:
            note = recorder.note_at(spot, how)
            note.setdefault("moves", {})
            recorder.tell(note)
        return
    spot, file, nodes = found
    note = recorder.note_at(spot, how)
    wanted = Wanted(recorder.watch, value)
    for node in nodes:
        target = recorder.target(note, file, node, value, set())
        recorder.fill_in(target, file, node, wanted, set())
        words = ""
        if "device" in to:
            words = "'cpu'" if to["device"].type == "cpu" else device_words(found, to["device"])
        moves = note.setdefault("moves", {})
        moves[":".join(map(str, place_of(node)))] = {
            "device": words,
            "moved": "device" in to,
            "dtype": str(to["dtype"]) if "dtype" in to else "",
            "array": array,
        }
    recorder.tell(note)


def computes(function: Any) -> bool:
    """Tell whether something is a function of torch's that computes with tensors."""
    home = str(getattr(function, "__module__", ""))
    known = home in ("torch", "torch.functional", "torch.nn.functional")
    return (known or home.startswith("torch._C")) and not isinstance(function, type)


def taking_arrays(recorder: Recorder, function: Any) -> Any:
    """Return a function of torch's that takes arrays, too; what it was given is recorded."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError, RuntimeError):
            if recorder.busy:
                raise
            with recorder.at_work():
                done, moves = _with_tensors(recorder, function, args, kwargs)
                if not moves:
                    raise
                for value, (at, to) in moves.values():
                    _record(recorder, value, to, at, getattr(function, "__name__", ""))
            return done

    return called


def _with_tensors(recorder: Recorder, function: Any, args: Any, kwargs: Any) -> tuple[Any, Moves]:
    """Call a function with tensors for arrays; no moves: that does not help."""
    try:
        moves = _arrays(recorder, args, kwargs)
        done = function(*_moved(args, moves), **_moved(kwargs, moves)) if moves else None
    except Exception:  # arrays of strings or with negative strides, and all that functions refuse
        return None, {}
    return done, moves


def _arrays(recorder: Recorder, args: Any, kwargs: Any) -> Moves:
    """Return the arrays that a call is given, and the device and dtype of the tensors beside."""
    import torch

    beside = [value for _, (_, value) in _tensors(args, kwargs)]
    device = next((t.device for t in beside if t.device.type != "cpu"), None)
    dtype = next((t.dtype for t in beside if t.is_floating_point()), None)
    moves: Moves = {}
    for value in (part for one in (*args, *kwargs.values()) for part in _parts(one)):
        if isinstance(value, recorder.watch.array_type):
            to = {} if device is None else {"device": device}
            if value.dtype.kind == "f" and dtype not in (None, torch.as_tensor(value).dtype):
                to["dtype"] = dtype
            moves[id(value)] = (value, (None, to))
    return moves


def _hook_modules(recorder: Recorder, torch: Any) -> None:
    """Let modules take arrays; those of the user's may want them, so they are asked first."""
    import numpy as np

    module_type = torch.nn.Module
    own = module_type.__call__

    @functools.wraps(own)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if recorder.busy or not any(isinstance(one, np.ndarray) for one in given):
            return own(self, *args, **kwargs)
        if not type(self).__module__.startswith("torch.nn."):
            try:
                return own(self, *args, **kwargs)
            except (TypeError, AttributeError, RuntimeError):
                pass
        parameter = next(self.parameters(), None)

        def converted(value: Any) -> Any:
            if not isinstance(value, np.ndarray):
                return value
            to: dict[str, Any] = {}
            with recorder.at_work():
                if parameter is not None:
                    to["device"] = parameter.device
                    if value.dtype.kind == "f":
                        to["dtype"] = parameter.dtype
                _record(recorder, value, to, None, "")
                return torch.as_tensor(value, **to)

        with_tensors = [converted(one) for one in args]
        return own(self, *with_tensors, **{name: converted(v) for name, v in kwargs.items()})

    module_type.__call__ = call
