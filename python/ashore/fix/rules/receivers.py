"""What can be read from the chain before `.numpy()`; used by TN101 to TN103."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ashore.fix.infer.scope import Run
from ashore.fix.sites import Convert


def chain_names(node: ast.expr) -> list[str]:
    """Return the methods and attributes of a chain, the last first."""
    names: list[str] = []
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name == "to" and any(
                isinstance(arg, ast.Constant) and arg.value == "cpu" for arg in node.args
            ):
                name = "cpu"
            names.append(name)
            node = node.func.value
        elif isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return names


def seen_on_cpu(node: ast.expr) -> bool:
    """Tell whether the chain says `.cpu()` and does not move away again."""
    for name in chain_names(node):
        if name == "cpu":
            return True
        if name in ("cuda", "to"):
            return False
    return False


def detached(node: ast.expr) -> bool:
    """Tell whether the chain says `.detach()` or `.data`."""
    return bool({"detach", "data"} & set(chain_names(node)))


def receiver_change(run: Run, receiver: ast.expr, needed: Iterable[str]) -> Convert:
    """Ask that conversions be put between a receiver and its `.numpy()`."""
    return Convert(run.module.source.span(receiver), frozenset(needed), receiver=True)
