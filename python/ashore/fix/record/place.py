"""Find what has to be moved to another device or dtype, and the words for where to."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from ashore.fix.record.blame import Spot, arguments, best, spots
from ashore.fix.record.instrument import Instrumented
from ashore.fix.record.recorder import OPERATIONS, Recorder, operands
from ashore.fix.record.watch import Wanted

Found = tuple[Spot, Instrumented, list[ast.expr]]


def locate(recorder: Recorder, wanted: Wanted, operand: int | None, method: str) -> Found | None:
    """Return the expressions that hold a value where it enters torch.

    What is handed through a module's forward() is found at the call of the outermost module.
    """
    exact = _through_spots(
        recorder, lambda spot, first: _here(spot, wanted, operand if first else None, method)
    )
    if exact is None:
        exact = _anywhere(recorder, wanted)
    # What a library made of an argument is moved by moving the argument.
    return exact or _through_spots(recorder, lambda spot, first: _alike(recorder, spot, wanted))


def _through_spots(
    recorder: Recorder, find: Callable[[Spot, bool], list[ast.expr]]
) -> Found | None:
    inner: Found | None = None
    first = True
    for spot in spots(recorder.files):
        found = find(spot, first)
        first = False
        if not found:
            continue
        inner = (spot, spot.file, found)
        if not _handed_through(spot, found):
            return inner
    return inner


def _alike(recorder: Recorder, spot: Spot, wanted: Wanted) -> list[ast.expr]:
    """Return the arguments of a call that are tensors where the value is."""
    if not isinstance(spot.node, ast.Call) or not hasattr(wanted.value, "device"):
        return []
    found = []
    for node in arguments(spot.node):
        value = recorder.watch.value(spot.file.numbers[node])
        if getattr(value, "device", None) == wanted.value.device and value.ndim:
            found.append(node)
    return found


def _here(spot: Spot, wanted: Wanted, operand: int | None, method: str) -> list[ast.expr]:
    node = spot.node
    if isinstance(node, OPERATIONS):
        return [operands(node)[operand]] if operand in (0, 1) else []
    if isinstance(node, ast.Subscript) and operand is not None:
        if operand == 0:
            return [node.value]
        return [] if isinstance(node.slice, ast.Slice | ast.Tuple) else [node.slice]
    if not isinstance(node, ast.Call):
        return []
    found = best(spot.file, arguments(node), wanted)
    if not found and operand == 0 and isinstance(node.func, ast.Attribute):
        return [node.func.value] if node.func.attr == method else []
    return found


def _handed_through(spot: Spot, found: list[ast.expr]) -> bool:
    """Tell whether a forward() only hands on what it was given."""
    if spot.frame.f_code.co_name != "forward" or len(found) != 1:
        return False
    code, node = spot.frame.f_code, found[0]
    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return isinstance(node, ast.Name) and node.id in given


def _anywhere(recorder: Recorder, wanted: Wanted) -> Found | None:
    """Find a value that was handed over earlier: weights of a loss, a table of a module."""
    spot = next(spots(recorder.files), None)
    for number in list(recorder.watch.last):
        if spot is not None and wanted.match(number) >= 2:
            file = recorder.files.of(number)
            node = file.node(number)
            if isinstance(node, ast.expr):
                return spot, file, [node]
    return None


def device_words(found: Found, device: Any) -> str:
    """Return how the program itself names a device at a place, or an empty string."""
    spot, file, nodes = found
    elsewhere = file is not spot.file or not _inside(spot, nodes[0])
    for name, value in [] if elsewhere else _names(spot.frame.f_locals):
        if _is_device(value, device):
            return name
    for name, value in _names(_globals_of(file, spot)):
        if _is_device(value, device):
            return name
    return "" if elsewhere else _partner(spot, nodes, device) or _module(spot)


def _inside(spot: Spot, node: ast.AST) -> bool:
    """Tell whether an expression stands in the function that is running at the spot."""
    around: ast.AST | None = node
    while around is not None:
        if around is spot.node:
            return True
        around = spot.file.parents.get(around)
    return False


def _names(scope: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    known = [name for name in scope if not name.startswith("_")]
    for name in sorted(known, key=lambda name: ("dev" not in name.lower(), len(name), name)):
        yield name, scope[name]


def _globals_of(file: Instrumented, spot: Spot) -> dict[str, Any]:
    if file is spot.file:
        return spot.frame.f_globals
    import sys

    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == file.path:
            return vars(module)
    return {}


def _is_device(value: Any, device: Any) -> bool:
    import torch

    if isinstance(value, torch.device):
        return value.type == device.type and value.index in (None, device.index)
    return isinstance(value, str) and value in (device.type, str(device))


def _partner(spot: Spot, nodes: list[ast.expr], device: Any) -> str:
    """Return `x.device` of a name beside the expressions that holds a tensor there."""
    node = spot.node
    if isinstance(node, OPERATIONS):
        beside = operands(node)
    elif isinstance(node, ast.Subscript):
        beside = [node.value, node.slice]
    else:
        beside = arguments(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            beside = [node.func.value, *beside]
    for other in beside:
        if any(other is one for one in nodes):
            continue
        value = value_of(spot, other)
        if getattr(value, "device", None) == device and not hasattr(value, "parameters"):
            return f"{ast.unparse(other)}.device"
    return ""


def _module(spot: Spot) -> str:
    """Return where the module that is called has its parameters."""
    if not isinstance(spot.node, ast.Call):
        return ""
    if not hasattr(value_of(spot, spot.node.func), "parameters"):
        return ""
    return f"next({ast.unparse(spot.node.func)}.parameters()).device"


def value_of(spot: Spot, node: ast.expr) -> Any:
    """Return what a name, or an attribute of one, holds at a spot; None where that is not said."""
    if isinstance(node, ast.Name):
        scope = spot.frame.f_locals
        return scope.get(node.id, spot.frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = value_of(spot, node.value)
        held = getattr(owner, "__dict__", {})
        for part in (held, held.get("_modules", {}), held.get("_buffers", {})):
            if node.attr in part:
                return part[node.attr]
    return None
