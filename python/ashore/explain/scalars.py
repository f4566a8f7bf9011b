"""Families where Python itself wants a number, a truth, or JSON."""

from __future__ import annotations

import ast
import re

from ashore.explain.guilty import NUMPY, calls_of, last_name, name_of
from ashore.explain.repair import Case, Found, arguments, found, suffixed, wrapped


def number(case: Case) -> Found | None:
    """One number is wanted of a tensor with several elements."""
    text = case.statement.text
    for call in case.calls:
        name = name_of(call)
        if last_name(call) == "item" and isinstance(call.func, ast.Attribute):
            return found(case, call.func.value, [(call, f"{text(call.func.value)}.tolist()")])
        if name in {"float", "int", "complex", "bool"} and call.args:
            return found(
                case, call.args[0], [(call, suffixed(case, call.args[0], case.wording.repair))]
            )
        if re.search(r"torch\.(as_)?tensor$|\w+Tensor$", name) and call.args:
            return found(case, call.args[0], [(call, f"torch.stack({text(call.args[0])})")])
        if NUMPY.match(name) and last_name(call) in {"array", "asarray"} and call.args:
            inner = text(call.args[0])
            return found(
                case, call.args[0], [(call, f"torch.stack({inner}).detach().cpu().numpy()")]
            )
        if name.startswith("math.") and call.args:
            return found(case, call.args[0], [(call.func, f"torch.{last_name(call)}")])
    tree = case.statement.tree
    if isinstance(tree, ast.Assign) and isinstance(tree.targets[0], ast.Subscript):
        return found(case, tree.value, [(tree.value, f"{text(tree.value)}.mean()")])
    return None


def truth(case: Case) -> Found | None:
    """A condition is a tensor of several elements."""
    for node in case.statement.nodes():
        test = getattr(node, "test", None)
        if isinstance(node, ast.If | ast.While | ast.Assert | ast.IfExp) and isinstance(
            test, ast.expr
        ):
            if isinstance(test, ast.BoolOp):
                joined = "&" if isinstance(test.op, ast.And) else "|"
                parts = f" {joined} ".join(f"({case.statement.text(v)})" for v in test.values)
                return found(case, test, [(test, f"({parts}).all()")])
            return wrapped(case, test)
    for node in case.statement.nodes():
        if isinstance(node, ast.BoolOp):
            joined = "&" if isinstance(node.op, ast.And) else "|"
            parts = f" {joined} ".join(f"({case.statement.text(v)})" for v in node.values)
            return found(case, node, [(node, parts)])
        if isinstance(node, ast.Compare) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        ):
            inner = node.operand if isinstance(node, ast.UnaryOp) else node
            return wrapped(case, inner)
    return None


def json(case: Case) -> Found | None:
    """json.dump(s) meets a tensor or a number of NumPy."""
    for call in case.calls:
        if last_name(call) in {"dumps", "dump"} and call.args:
            inside = case.statement.text(call)[:-1].rstrip().rstrip(",")
            line = case.statement.edited([(call, f"{inside}, {case.wording.repair})")])
            return Found(case.statement.text(call.args[0]), line)
    return None


def formatted(case: Case) -> Found | None:
    """A tensor of several elements is formatted as a number."""
    for node in case.statement.nodes():
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            text = ast.unparse(node.value)
            whole = case.statement.edited([])
            return Found(text, whole.replace("{" + text, "{" + text + ".item()", 1))
    for call in calls_of(case.statement):
        if last_name(call) in {"format"} and arguments(call):
            return wrapped(case, arguments(call)[-1])
    return None


def attribute(case: Case) -> Found | None:
    """A method of tensors is asked of an array, or the other way round."""
    name = case.groups.get("method", "")
    for node in case.statement.nodes():
        if not (isinstance(node, ast.Attribute) and node.attr == name):
            continue
        if "ndarray' object" not in case.wording.needle or name not in _LEFT_OUT:
            return wrapped(case, node.value)
        outer: ast.AST = node
        for call in calls_of(case.statement):  # the chain of such calls that begins here
            if (
                isinstance(call.func, ast.Attribute)
                and call.func.attr in _LEFT_OUT
                and _in(outer, call.func)
            ):
                outer = call
        return found(case, node.value, [(outer, case.statement.text(node.value))])
    return None


_LEFT_OUT = frozenset({"cpu", "detach", "numpy", "contiguous", "clone"})


def _in(node: ast.AST, tree: ast.AST) -> bool:
    return any(node is other for other in ast.walk(tree))
