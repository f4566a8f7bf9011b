"""What is known of an expression's value: frozen values that join where paths of a program meet.

Made by infer, read by the rules. What is not known is "unknown"; nothing is ever guessed silently:
a value that may be no tensor at all is `weak`.
"""

from __future__ import annotations

import ast
from typing import Literal, NamedTuple

Kind = Literal[
    "unknown",
    "plain",  # numbers, strings, None
    "tensor",
    "array",  # of NumPy
    "either",  # a tensor or an array, by the caller's choice
    "list",
    "tuple",
    "dict",
    "pairs",  # zip and enumerate: tuples come out
    "module",  # an nn.Module
    "object",  # an instance of a class of the project
    "output",  # what a model of unknown structure returned
    "loader",  # a DataLoader
    "batch",  # what comes out of one
    "loaded",  # what torch.load gave
    "device",
    "estimator",  # of scikit-learn and its like
    "distribution",
]
Device = Literal["unknown", "cpu", "named", "accelerator"]  # named: called "device", value not seen
Grad = Literal["unknown", "no", "yes"]


class Origin(NamedTuple):
    """Say where a value got what matters: in words, with the line (and file, if another)."""

    text: str
    line: int
    path: str = ""

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.path else f"line {self.line}"
        return f"{self.text}, {where}"


class Value(NamedTuple):
    """Hold what is known of a value; the defaults say that nothing is."""

    kind: Kind = "unknown"
    device: Device = "unknown"
    grad: Grad = "unknown"
    dtype: str = ""
    scalar: bool = False  # a tensor known to be 0-d
    weak: bool = False  # it may be something else
    mixed: bool = False  # a list's elements that are not all of this kind
    element: Value | None = None  # of a list or dict
    elements: tuple[Value, ...] = ()  # of a tuple or pairs
    class_name: str = ""  # of an object or module
    origin: Origin | None = None
    taint: frozenset[tuple[int, int]] = frozenset()  # conversions (line, column) that it came from
    filled: tuple[ast.expr, ...] = ()  # the expressions that fill the list, as far as in sight
    alias: tuple[int, int] | None = None  # the `.numpy()` whose memory this array shares
    param: str = ""  # the parameter of the function that it is, or is a part of


UNKNOWN = Value()
PLAIN = Value("plain")
ARRAY = Value("array")

_EMPTY: frozenset[tuple[int, int]] = frozenset()
_CONTAINERS = ("list", "tuple", "dict", "module", "object")
_DEVICES: tuple[Device, ...] = ("cpu", "unknown", "named", "accelerator")


def tensor(
    device: Device = "unknown",
    grad: Grad = "unknown",
    *,
    dtype: str = "",
    scalar: bool = False,
    weak: bool = False,
    origin: Origin | None = None,
    taint: frozenset[tuple[int, int]] = _EMPTY,
) -> Value:
    """Return a tensor."""
    return Value("tensor", device, grad, dtype, scalar, weak=weak, origin=origin, taint=taint)


def worst_device(a: Device, b: Device) -> Device:
    """Return the device that matters when values of both may be there."""
    return a if _DEVICES.index(a) >= _DEVICES.index(b) else b


def join_grad(a: Grad, b: Grad) -> Grad:
    """Return whether a value may have a gradient that is one of both."""
    if a == b:
        return a
    return "yes" if "yes" in (a, b) else "unknown"


def join(a: Value | None, b: Value | None, depth: int = 0) -> Value:
    """Return what is known of a value that is `a` on one path and `b` on another."""
    if a is b or b is None:
        return UNKNOWN if a is None else a
    if a is None:
        return b
    if a.kind == b.kind:
        return _join_alike(a, b, depth)
    kinds = {a.kind, b.kind}
    taint = a.taint | b.taint
    if "plain" in kinds and kinds & {"tensor", "list", "dict", "tuple", "module", "object"}:
        return b if a.kind == "plain" else a  # `x = None` or `x = 0` before the loop
    if kinds == {"tensor", "unknown"}:
        known = a if a.kind == "tensor" else b
        return known._replace(
            weak=True,
            device="unknown" if known.device == "cpu" else known.device,
            grad="yes" if known.grad == "yes" else "unknown",
        )
    if kinds == {"tensor", "output"}:
        known = a if a.kind == "tensor" else b
        return known._replace(
            device=worst_device(a.device, b.device), grad=join_grad(a.grad, b.grad)
        )
    if kinds <= {"tensor", "array", "either"}:
        return Value("either", worst_device(a.device, b.device), taint=taint)
    return UNKNOWN._replace(taint=taint) if taint else UNKNOWN


def join_elements(a: Value | None, b: Value | None) -> Value:
    """Return what an element of a list is that holds both; remember that they differ."""
    joined = join(a, b)
    if a is not None and b is not None and a.kind != b.kind:
        return joined._replace(mixed=True)
    return joined


def _join_alike(a: Value, b: Value, depth: int) -> Value:
    if a.kind in ("tensor", "output"):
        worse = b if _DEVICES.index(b.device) > _DEVICES.index(a.device) else a
        return worse._replace(
            grad=join_grad(a.grad, b.grad),
            dtype=a.dtype if a.dtype == b.dtype else "",
            scalar=a.scalar and b.scalar,
            weak=a.weak and b.weak,
            mixed=a.mixed or b.mixed,
            taint=a.taint | b.taint,
            param=a.param if a.param == b.param else "",
        )
    if a.kind in ("list", "dict"):
        if depth > 3:
            return a
        return a._replace(
            element=join(a.element, b.element, depth + 1) if a.element or b.element else None,
            filled=_unite(a.filled, b.filled),
        )
    if a.kind == "tuple" and len(a.elements) == len(b.elements) and depth <= 3:
        pairs = zip(a.elements, b.elements, strict=True)
        return a._replace(elements=tuple(join(x, y, depth + 1) for x, y in pairs))
    if a.kind in ("module", "device"):
        return a._replace(
            device=worst_device(a.device, b.device),
            class_name=a.class_name if a.class_name == b.class_name else "",
        )
    if a.kind in _CONTAINERS and a != b:
        return UNKNOWN
    return a._replace(taint=a.taint | b.taint) if a.taint != b.taint else a


def _unite(a: tuple[ast.expr, ...], b: tuple[ast.expr, ...]) -> tuple[ast.expr, ...]:
    return a if a == b or not b else tuple(dict.fromkeys(a + b))


def element_of(value: Value) -> Value:
    """Return what iterating over a value, or indexing it, gives."""
    kind = value.kind
    if kind in ("list", "dict"):
        return value.element or UNKNOWN
    if kind == "tensor":
        return value._replace(scalar=False)
    if kind == "tuple":
        joined: Value | None = None
        for one in value.elements:
            joined = join(joined, one)
        return joined or UNKNOWN
    if kind == "pairs":
        return Value("tuple", elements=value.elements)
    if kind == "output":
        return value._replace(kind="tensor", weak=value.device != "accelerator")
    if kind == "loader":
        return Value("batch")
    if kind == "batch":
        return tensor("cpu", "no", weak=True, origin=Origin("a batch of a DataLoader", 0))
    if kind in ("array", "either"):
        return value
    return UNKNOWN._replace(param=value.param) if value.param else UNKNOWN


def as_tensor(value: Value) -> Value | None:
    """Return the value as a tensor where it is one, or comes straight from a model; else None."""
    if value.kind == "tensor":
        return value
    if value.kind == "output":
        return value._replace(kind="tensor", weak=value.device != "accelerator")
    return None
