"""Containers that are more than a dict, list or tuple: taken apart and rebuilt (contract K1).

Called from `bindings/walk.cpp` alone, once for each such container and for each leaf of a class
that the core does not know.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections import OrderedDict, UserDict, UserList, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from ashore._text import class_name, one_line

Rebuild = Callable[[list[Any]], Any]
# (children, their labels, whether the labels are field names, how to make the container of new
# children)
Parts = tuple[list[Any], list[Any], bool, Rebuild]

_ARRAY_PROTOCOLS = ("__cuda_array_interface__", "__dlpack__", "__array__", "__array_interface__")


def take_apart(x: Any) -> Parts | None:
    """Return the parts of a container, or None where `x` is none."""
    kind = type(x)
    registered = _registered_node(x, kind)
    if registered is not None:
        return registered
    if issubclass(kind, dict):
        return list(x.values()), list(x.keys()), False, _guard(kind, _dict_rebuilder(x, kind))
    if issubclass(kind, tuple):
        fields = list(getattr(kind, "_fields", ()))
        return list(x), fields, bool(fields), _guard(kind, _tuple_rebuilder(x, kind))
    if issubclass(kind, list):
        return list(x), [], False, _guard(kind, _filled_copy(x))
    if issubclass(kind, UserDict):
        return list(x.values()), list(x.keys()), False, _guard(kind, _mapping_copy(x))
    if issubclass(kind, UserList):
        return list(x), [], False, _guard(kind, _filled_copy(x))
    if hasattr(kind, "__dataclass_fields__") and not any(
        hasattr(x, name) for name in _ARRAY_PROTOCOLS
    ):
        return _dataclass_parts(x, kind)
    return None


def _guard(kind: type, rebuild: Rebuild) -> Rebuild:
    """Wrap a rebuilder: whatever goes wrong in it is a TypeError that names the container's
    class."""

    def guarded(children: list[Any]) -> Any:
        try:
            made = rebuild(children)
        except Exception as error:
            reason = one_line(error) or type(error).__name__
            raise TypeError(
                f"a container of class {class_name(kind)} cannot be rebuilt: {reason}"
            ) from None
        if type(made) is not kind:
            raise TypeError(
                f"a container of class {class_name(kind)} cannot be rebuilt: its constructor gives "
                f"something else"
            )
        return made

    return guarded


def _dict_rebuilder(x: dict[Any, Any], kind: type) -> Rebuild:
    keys = list(x.keys())
    if kind is OrderedDict:
        return lambda children: OrderedDict(zip(keys, children, strict=True))
    if kind is defaultdict:
        factory = x.default_factory  # type: ignore[attr-defined]
        return lambda children: defaultdict(factory, zip(keys, children, strict=True))
    return _mapping_copy(x)


def _mapping_copy(x: Mapping[Any, Any]) -> Rebuild:
    """Rebuild by a shallow copy, which keeps attributes and class invariants, with every value set
    anew."""
    keys = list(x.keys())

    def rebuild(children: list[Any]) -> Any:
        made: Any = copy.copy(x)
        if made is x:
            raise TypeError("copy.copy gives the container itself")
        for key, child in zip(keys, children, strict=True):
            made[key] = child
        return made

    return rebuild


def _filled_copy(x: Any) -> Rebuild:
    def rebuild(children: list[Any]) -> Any:
        made = copy.copy(x)
        if made is x:
            raise TypeError("copy.copy gives the container itself")
        made[:] = children
        return made

    return rebuild


def _tuple_rebuilder(x: tuple[Any, ...], kind: type) -> Rebuild:
    make: Rebuild
    new: Any = kind.__new__
    if hasattr(kind, "n_sequence_fields"):  # a struct sequence, such as torch.return_types
        hidden = x.__reduce__()[1][1]  # fields that have no place in it
        return lambda children: kind(children, hidden)
    if hasattr(kind, "_make") and hasattr(kind, "_fields"):
        make = kind._make
    elif new is not tuple.__new__:  # torch.Size
        make = kind
    else:
        make = functools.partial(tuple.__new__, kind)

    def rebuild(children: list[Any]) -> Any:
        made = make(children)
        if hasattr(x, "__dict__"):
            made.__dict__.update(x.__dict__)
        return made

    return rebuild


def _dataclass_parts(x: Any, kind: type) -> Parts:
    # A dataclass exists, so its module is loaded; importing it at the top would cost every first
    # conversion.
    fields = [f.name for f in sys.modules["dataclasses"].fields(x) if hasattr(x, f.name)]

    def rebuild(children: list[Any]) -> Any:
        made = copy.copy(x)
        if made is x:
            raise TypeError("copy.copy gives the instance itself")
        for name, child in zip(fields, children, strict=True):
            object.__setattr__(made, name, child)
        return made

    return [getattr(x, name) for name in fields], list(fields), True, _guard(kind, rebuild)


def _registered_node(x: Any, kind: type) -> Parts | None:
    """Take apart a node type that somebody registered with optree or torch's pytree, if that
    library is loaded."""
    torch = sys.modules.get("torch")
    if kind in (OrderedDict, defaultdict) or (torch is not None and kind is torch.Size):
        return None  # these are rebuilt below; torch's pytree would make a tuple of a Size
    pytree = sys.modules.get("torch.utils._pytree")
    node = pytree.SUPPORTED_NODES.get(kind) if pytree is not None else None
    if node is not None:
        children, context = node.flatten_fn(x)
        return list(children), [], False, lambda made: node.unflatten_fn(made, context)
    entry = _optree_entry(kind)
    if entry is not None:
        parts = entry.flatten_func(x)
        children, metadata = parts[0], parts[1]
        return list(children), [], False, lambda made: entry.unflatten_func(metadata, made)
    return None


def _optree_entry(kind: type) -> Any:
    """Return optree's entry of a node type; of one that has a namespace, the first."""
    optree = sys.modules.get("optree")
    if optree is None:
        return None
    entry = optree.register_pytree_node.get(kind)
    if entry is None:
        registry = getattr(optree.registry, "_NODETYPE_REGISTRY", {})
        names = [key for key in list(registry) if isinstance(key, tuple) and key[-1] is kind]
        entry = optree.register_pytree_node.get(kind, namespace=names[0][0]) if names else None
    return entry if entry is not None and entry.kind == optree.PyTreeKind.CUSTOM else None
