"""The values of expressions that are no calls."""

from __future__ import annotations

import ast
import re

from ashore.fix.facts import table
from ashore.fix.infer.narrowing import narrow
from ashore.fix.infer.scope import POSITIONS_IN_FSTRINGS, Scope, handles, key_of
from ashore.fix.meetings import ArrayIndex, OneSided
from ashore.fix.values import (
    ARRAY,
    PLAIN,
    UNKNOWN,
    Value,
    as_tensor,
    element_of,
    join,
    join_elements,
    join_grad,
    tensor,
    worst_device,
)

_TENSOR_ATTRIBUTES = table("torch").words("tensor_attributes")
_PLAIN_ATTRIBUTES = table("torch").words("plain_attributes")
_OUTPUT_TENSORS = table("torch").words("output_tensors")
_SHARED = table("torch").words("shared_with_arrays")
_MOST_FILLED = 50  # elements of a list that are remembered one by one
_DEVICE_STRING = re.compile(r"(cuda|mps|xpu|hip|npu)(:\d+)?$|cpu$")


@handles(ast.Constant)
def _constant(scope: Scope, node: ast.Constant) -> Value:
    if isinstance(node.value, str) and _DEVICE_STRING.match(node.value):
        return Value("device", "cpu" if node.value == "cpu" else "accelerator")
    return PLAIN


@handles(ast.Name)
def _name(scope: Scope, node: ast.Name) -> Value:
    return scope.look_up(node.id) or UNKNOWN


@handles(ast.NamedExpr)
def _named(scope: Scope, node: ast.NamedExpr) -> Value:
    value = scope.value_of(node.value)
    scope.bind(node.target.id, value)
    return value


@handles(ast.Await, ast.Starred)
def _inner(scope: Scope, node: ast.Await | ast.Starred) -> Value:
    return scope.value_of(node.value)


@handles(ast.JoinedStr)
def _joined(scope: Scope, node: ast.JoinedStr) -> Value:
    before = scope.untouchable
    if not POSITIONS_IN_FSTRINGS:
        scope.untouchable = "inside an f-string, where Python before 3.12 tells no positions"
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            scope.value_of(part.value)
    scope.untouchable = before
    return PLAIN


@handles(ast.IfExp)
def _choice(scope: Scope, node: ast.IfExp) -> Value:
    scope.value_of(node.test)
    env = scope.env
    values = []
    for branch, positive in ((node.body, True), (node.orelse, False)):
        scope.env = dict(env)
        narrow(scope, node.test, positive)
        values.append(scope.value_of(branch))
    scope.env = env
    _look_for_one_side(scope, node)
    return join(values[0], values[1])


def _look_for_one_side(scope: Scope, node: ast.IfExp) -> None:
    sides = [_chain(side) for side in (node.body, node.orelse)]
    for converting, bare in ((0, 1), (1, 0)):
        root, names = sides[converting]
        other_root, other = sides[bare]
        if not (names and other and names[-1] == other[-1] == "numpy"):
            continue
        rest = [name for name in names if name not in ("cpu", "detach")]
        alike = rest == [name for name in other if name != "detach"]
        moves = "cpu" in names and "cpu" not in other
        if alike and moves and ast.dump(root) == ast.dump(other_root):
            nodes = (node.body, node.orelse)
            meeting = OneSided(node, scope.context(), nodes[converting], nodes[bare])
            scope.run.meet(meeting)


def _chain(node: ast.expr) -> tuple[ast.expr, list[str]]:
    """Return what a chain of calls without arguments begins with, and the methods in order."""
    names: list[str] = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.args or node.keywords:
            break
        names.insert(0, node.func.attr)
        node = node.func.value
    return node, names


@handles(ast.Lambda)
def _lambda(scope: Scope, node: ast.Lambda) -> Value:
    env = scope.env
    scope.env = dict(env)
    for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
        scope.env[arg.arg] = UNKNOWN
    scope.value_of(node.body)
    scope.env = env
    return UNKNOWN


@handles(ast.List, ast.Set)
def _list(scope: Scope, node: ast.List | ast.Set) -> Value:
    filled = tuple(node.elts) if len(node.elts) <= _MOST_FILLED else ()
    return Value("list", element=_join_elements(scope, node.elts), filled=filled)


def _join_elements(scope: Scope, nodes: list[ast.expr]) -> Value | None:
    joined: Value | None = None
    for one in nodes:
        value = scope.value_of(one)
        if not isinstance(one, ast.Constant):
            scope.run.elements[one] = value
        value = element_of(value) if isinstance(one, ast.Starred) else value
        joined = join_elements(joined, value)
    return joined


@handles(ast.Tuple)
def _tuple(scope: Scope, node: ast.Tuple) -> Value:
    if any(isinstance(one, ast.Starred) for one in node.elts):
        return Value("list", element=_join_elements(scope, node.elts))
    values = tuple(scope.value_of(one) for one in node.elts)
    scope.run.elements.update(zip(node.elts, values, strict=True))
    return Value("tuple", elements=values)


@handles(ast.Dict)
def _dict(scope: Scope, node: ast.Dict) -> Value:
    joined: Value | None = None
    for key, one in zip(node.keys, node.values, strict=True):
        if key is not None:
            scope.value_of(key)
        value = scope.value_of(one)
        scope.run.elements[one] = value
        joined = join_elements(joined, element_of(value) if key is None else value)
    return Value("dict", element=joined)


@handles(ast.ListComp, ast.SetComp, ast.GeneratorExp)
def _comprehension(scope: Scope, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    env = scope.env
    scope.env = dict(env)
    _walk_generators(scope, node.generators)
    value = scope.value_of(node.elt)
    scope.run.elements[node.elt] = value
    scope.env = env
    return Value("list", element=value, filled=(node.elt,))


@handles(ast.DictComp)
def _dict_comprehension(scope: Scope, node: ast.DictComp) -> Value:
    env = scope.env
    scope.env = dict(env)
    _walk_generators(scope, node.generators)
    scope.value_of(node.key)
    value = scope.value_of(node.value)
    scope.env = env
    return Value("dict", element=value)


def _walk_generators(scope: Scope, generators: list[ast.comprehension]) -> None:
    from ashore.fix.infer.statements import assign

    for generator in generators:
        assign(scope, generator.target, element_of(scope.value_of(generator.iter)), None)
        for test in generator.ifs:
            scope.value_of(test)
            narrow(scope, test, True)


@handles(ast.Subscript)
def _subscript(scope: Scope, node: ast.Subscript) -> Value:
    key = key_of(node)
    base = scope.value_of(node.value)
    index = scope.value_of(node.slice)
    known = scope.look_up(key) if key else None
    if known is not None:
        return known
    kind = base.kind
    if kind == "array":
        if index.kind == "tensor" and isinstance(node.ctx, ast.Load):
            scope.run.meet(ArrayIndex(node, scope.context(), node.slice, index))
        return base
    if kind == "tuple":
        place = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(place, int) and -len(base.elements) <= place < len(base.elements):
            return base.elements[place]
    if kind == "list" and isinstance(node.slice, ast.Slice):
        return base
    return element_of(base)


@handles(ast.Attribute)
def _attribute(scope: Scope, node: ast.Attribute) -> Value:
    key = key_of(node)
    if key:
        known = scope.look_up(key)
        if known is not None:
            return known
    return _part_of(scope, node, scope.value_of(node.value))


def attribute_of(scope: Scope, node: ast.Attribute, base: Value) -> Value:
    """Return the value of an attribute whose base has been valued already."""
    key = key_of(node)
    known = scope.look_up(key) if key else None
    return _part_of(scope, node, base) if known is None else known


def _part_of(scope: Scope, node: ast.Attribute, base: Value) -> Value:
    kind, name = base.kind, node.attr
    if kind in ("object", "module"):
        stored = scope.run.attribute_of(base.class_name, name) if base.class_name else None
        if stored is not None:
            return stored
        if kind == "module" and name in ("weight", "bias"):
            origin = scope.origin(f"the parameter `.{name}` of a module", node)
            return tensor(base.device, "yes", origin=origin)
        return UNKNOWN
    if kind == "tensor":
        if name == "data":
            return base._replace(grad="no")
        if name in _TENSOR_ATTRIBUTES:
            return base._replace(grad="no" if name == "grad" else base.grad)
        if name in _PLAIN_ATTRIBUTES:
            return PLAIN
        return base if base.weak and base.device == "cpu" else UNKNOWN  # of what was moved whole
    if kind == "output":
        made = as_tensor(base) if name in _OUTPUT_TENSORS else None
        return made._replace(weak=False) if made is not None else UNKNOWN
    if kind == "array":
        return base if name in ("T", "flat", "real", "imag") else PLAIN
    if base.param and name in _SHARED:
        return Value(param=base.param)
    return UNKNOWN


def combine(left: Value, right: Value) -> Value:
    """Return what an arithmetic operation on two values gives."""
    taint = left.taint | right.taint
    a, b = as_tensor(left), as_tensor(right)
    if a is not None and b is not None:
        worse = b if worst_device(a.device, b.device) != a.device else a
        grad = join_grad(a.grad, b.grad)
        scalar = a.scalar and b.scalar
        weak = a.weak and b.weak
        device = "accelerator" if "accelerator" in (a.device, b.device) else worse.device
        if {a.device, b.device} == {"cpu", "unknown"}:
            device = "unknown"
        return tensor(device, grad, scalar=scalar, weak=weak, origin=worse.origin, taint=taint)
    one = a or b
    if one is not None:
        other = right if one is a else left
        return one._replace(scalar=one.scalar and other.kind == "plain", taint=taint)
    if left.kind == "list":
        return left._replace(element=join(left.element, right.element)) if right.element else left
    if right.kind == "list":
        return right
    if "array" in (left.kind, right.kind):
        return ARRAY._replace(taint=taint) if taint else ARRAY
    if left.kind == right.kind == "plain":
        return PLAIN._replace(taint=taint) if taint else PLAIN
    return UNKNOWN._replace(taint=taint) if taint else UNKNOWN


@handles(ast.BinOp)
def _binary(scope: Scope, node: ast.BinOp) -> Value:
    left, right = scope.value_of(node.left), scope.value_of(node.right)
    if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant | ast.JoinedStr):
        return PLAIN  # a format
    return combine(left, right)


@handles(ast.UnaryOp)
def _unary(scope: Scope, node: ast.UnaryOp) -> Value:
    value = scope.value_of(node.operand)
    if isinstance(node.op, ast.Not):
        return PLAIN
    return value._replace(alias=None) if value.kind in ("tensor", "array", "plain") else UNKNOWN


@handles(ast.BoolOp)
def _either_of(scope: Scope, node: ast.BoolOp) -> Value:
    joined: Value | None = None
    for one in node.values:
        joined = join(joined, scope.value_of(one))
    return joined or UNKNOWN


@handles(ast.Slice)
def _slice(scope: Scope, node: ast.Slice) -> Value:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            scope.value_of(part)
    return PLAIN


@handles(ast.Yield, ast.YieldFrom)
def _yield(scope: Scope, node: ast.Yield | ast.YieldFrom) -> Value:
    value = scope.value_of(node.value)
    if isinstance(node, ast.Yield):
        scope.returned = join(scope.returned, Value("list", element=value))
    return UNKNOWN


@handles(ast.Compare)
def _compare(scope: Scope, node: ast.Compare) -> Value:
    values = [scope.value_of(one) for one in (node.left, *node.comparators)]
    if isinstance(node.ops[0], ast.In | ast.NotIn | ast.Is | ast.IsNot):
        return PLAIN
    for value in values:
        if value.kind == "tensor":
            return value._replace(grad="no", dtype="bool")
        if value.kind == "array":
            return ARRAY
    return PLAIN if all(value.kind == "plain" for value in values) else UNKNOWN
