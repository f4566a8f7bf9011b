"""Whether a use of a list would notice that its elements became arrays; asked by both halves."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import NamedTuple


class Harmless(NamedTuple):
    """Name what may be done with a list: its methods, and functions that are given it."""

    methods: Collection[str]
    functions: Collection[str]
    calls: Callable[[ast.Call], bool]  # others that are given it: whether they want arrays


def is_harmless(node: ast.AST, parents: dict[ast.AST, ast.AST], harmless: Harmless) -> bool:
    """Tell whether what is done with a list at a node leaves its elements alone."""
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return True
    parent = parents.get(node)
    while isinstance(parent, ast.Subscript) and parent.value is node:
        if not isinstance(parent.slice, ast.Slice):
            return False
        node, parent = parent, parents.get(parent)
    if isinstance(parent, ast.Attribute):
        return parent.attr in harmless.methods
    if isinstance(parent, ast.If | ast.While | ast.UnaryOp):
        return True
    if isinstance(parent, ast.keyword):
        parent = parents.get(parent)
    if not isinstance(parent, ast.Call):
        return False
    if isinstance(parent.func, ast.Name) and parent.func.id in harmless.functions:
        return True
    return harmless.calls(parent)
