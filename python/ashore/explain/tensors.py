"""Families where PyTorch is given an array, or tensors of several devices or dtypes."""

from __future__ import annotations

import ast
import re

from ashore.explain.guilty import NUMPY, last_name, name_of
from ashore.explain.repair import (
    JOINS,
    LOSSES,
    Case,
    Found,
    arguments,
    atom,
    device_of_model,
    found,
    is_module_call,
    wrapped,
)


def feed(case: Case) -> Found | None:
    """A NumPy array is given to a module, function or operator of PyTorch."""
    symbol = _OPERATORS.get(case.groups.get("callee", ""))
    if symbol and (met := _between(case, symbol, is_left=False)):
        return met
    one = _fed_call(case)
    if one is None:
        return None
    nodes = arguments(one)
    if not nodes:
        return None
    node = _fed_argument(case, one, nodes)
    argument = case.groups.get("argument", "")
    dtype = "torch.long" if argument in {"target", "indices", "index"} else "torch.float32"
    if is_module_call(one):
        device = device_of_model(case, one)
    else:
        others = [n for n in nodes if n is not node and isinstance(n, ast.Name | ast.Attribute)]
        device = f"{case.statement.text(others[0])}.device" if others else ""
        if others and dtype == "torch.float32":
            dtype = f"{case.statement.text(others[0])}.dtype"
    return found(case, node, [(node, _as_tensor(case, node, dtype, device))])


def sized(case: Case) -> Found | None:
    """A loss asks its target for `.size()`, which is a number of an array."""
    return feed(case._replace(groups={**case.groups, "position": "2"}))


def _as_tensor(case: Case, node: ast.AST, dtype: str, device: str) -> str:
    text = case.statement.text(node)
    made = f"torch.as_tensor({text}"
    made += f", dtype={dtype}" if dtype else ""
    return made + (f", device={device})" if device else ")")


def _fed_call(case: Case) -> ast.Call | None:
    calls = [call for call in case.calls if arguments(call)]
    callee = case.groups.get("callee") or ""
    named = [
        c for c in calls if last_name(c) and last_name(c) in {callee, callee.removesuffix("_loss")}
    ]
    torches = [c for c in calls if re.match(r"(torch|F|nn)\.", name_of(c))]
    modules = [c for c in calls if is_module_call(c)]
    losses = [c for c in calls if LOSSES.search(name_of(c))]
    if case.deeper and not named:
        torches, modules = modules + losses, torches
    for group in (named, torches, modules, calls):
        if group:
            return (
                group[-1] if len(group) == 1 else min(group, key=lambda c: len(list(ast.walk(c))))
            )
    return None


def _fed_argument(case: Case, one: ast.Call, nodes: list[ast.expr]) -> ast.expr:
    arrays = [n for n in nodes if NUMPY.match(name_of(n)) or case.origins.kind(n) == "array"]
    if len(arrays) == 1:
        return arrays[0]
    name = case.groups.get("argument")
    for keyword in one.keywords:
        if keyword.arg is not None and keyword.arg == name:
            return keyword.value
    position = case.groups.get("position")
    got = case.groups.get("got")
    if got and not position:
        kinds = [kind.strip() for kind in got.split(",")]
        position = str(next((i for i, kind in enumerate(kinds, 1) if "ndarray" in kind), 1))
    if position and not is_module_call(one):
        at = int(position) - 1
        if 0 <= at < len(one.args):
            return one.args[at]
    return nodes[0]


def elements(case: Case) -> Found | None:
    """A list of arrays is given to torch.cat or torch.stack."""
    joins = [c for c in case.calls if JOINS.search(name_of(c)) and c.args] or [
        c for c in case.calls if c.args
    ]
    if not joins:
        return None
    node = joins[0].args[0]
    if isinstance(node, ast.List | ast.Tuple):
        return found(
            case, node, [(e, f"torch.as_tensor({case.statement.text(e)})") for e in node.elts]
        )
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return found(case, node, [(node.elt, f"torch.as_tensor({case.statement.text(node.elt)})")])
    return found(case, node, [(node, f"[torch.as_tensor(a) for a in {case.statement.text(node)}]")])


def index(case: Case) -> Found | None:
    """A tensor on the CPU is indexed by one on an accelerator."""
    nodes = [n for n in case.statement.nodes() if isinstance(n, ast.Subscript)]
    if isinstance(case.operation, ast.Subscript):
        nodes = [case.operation]
    nodes = [n for n in nodes if not isinstance(n.slice, ast.Constant)] or nodes
    for node in nodes:
        inner = node.slice
        if isinstance(inner, ast.Tuple):
            inner = next(
                (e for e in inner.elts if not isinstance(e, ast.Slice | ast.Constant)), inner
            )
        to = f".to({atom(case, node.value)}.device)"
        return found(case, inner, [(inner, f"{atom(case, inner)}{to}")])
    return None


def operand(case: Case) -> Found | None:
    """An array and a tensor meet in an operation of Python."""
    symbol = (case.groups.get("op") or "+").rstrip(":=")
    return _between(case, symbol, "left" in case.groups)


def _between(case: Case, symbol: str, is_left: bool) -> Found | None:
    """Find the operation with that symbol, whose left or right side is the array."""
    nodes = list(case.statement.nodes())
    if isinstance(case.operation, ast.BinOp | ast.AugAssign):
        nodes = [case.operation]
    for node in nodes:
        if isinstance(node, ast.AugAssign):
            left, right = case.statement.text(node.target), atom(case, node.value)
            if not is_left:
                made = f"torch.as_tensor({right}, device={left}.device)"
                return found(case, node.value, [(node.value, made)])
            made = f"{left} = torch.as_tensor({left}, device={right}.device) {symbol} {right}"
            return Found(left, made)
        if isinstance(node, ast.Compare):
            operator: ast.AST = node.ops[0]
            one, two = node.left, node.comparators[0]
        elif isinstance(node, ast.BinOp):
            operator, one, two = node.op, node.left, node.right
        else:
            continue
        if _SYMBOLS.get(type(operator)) != symbol:
            continue
        array, tensor = (one, two) if is_left else (two, one)
        made = f"torch.as_tensor({case.statement.text(array)}, device={atom(case, tensor)}.device)"
        return found(case, array, [(array, made)])
    return None


# PyTorch's names of operators, as its messages have them.
_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "true_divide": "/",
    "floor_divide": "//",
    "matmul": "@",
    "pow": "**",
    "remainder": "%",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}
_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_MAKERS = re.compile(r"(from_numpy|as_tensor|asarray|tensor|\w*Tensor|to_tensor|from_dlpack)$")


def source(case: Case) -> Found | None:
    """The array that a tensor is to be made of."""
    makers = [c for c in case.calls if _MAKERS.search(name_of(c)) and arguments(c)]
    made = [c for c in makers if name_of(c).endswith("from_numpy")] or makers
    if not made:
        made = [c for c in case.calls if arguments(c)]
    if not made:
        return None
    one = made[0]
    node = arguments(one)[0]
    if "got" in case.wording.pattern and name_of(one).endswith("from_numpy"):
        inner = case.statement.text(node)
        return found(case, node, [(one, f"torch.as_tensor({inner})")])
    return wrapped(case, node)
