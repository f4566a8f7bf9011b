"""Find the expression of the user's text that brought a value to where it must not be."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ashore.fix.record.instrument import Files, Instrumented
from ashore.fix.record.watch import Wanted

_DISPLAYS = (ast.List, ast.Tuple, ast.Set)
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp)


class Spot(NamedTuple):
    """A point of the user's program that is being carried out."""

    file: Instrumented
    frame: FrameType
    node: ast.AST | None  # the call, subscript or operation; None where Python does not say


def spots(files: Files, frame: FrameType | None = None) -> Iterator[Spot]:
    """Yield the points in the user's files that led here, the innermost first."""
    frame = frame or sys._getframe(1)
    while frame is not None:
        file = files.by_name.get(frame.f_code.co_filename)
        if file is not None:
            yield Spot(file, frame, _node(file, frame))
        frame = frame.f_back


def _node(file: Instrumented, frame: FrameType) -> ast.AST | None:
    line, end_line, column, end_column = _positions(frame.f_code)[frame.f_lasti // 2]
    if None in (line, end_line, column, end_column):
        return None
    nodes = file.by_place.get((line, column, end_line, end_column), [])
    for kinds in ((ast.Call, ast.Subscript, ast.BinOp, ast.Compare, ast.AugAssign), (ast.AST,)):
        for node in nodes:
            if isinstance(node, kinds):
                return node
    # Python 3.11: a method call over several lines begins at the line of the method's name.
    for call in file.by_end.get((end_line, end_column), []):
        if call.func.end_lineno == line:
            return call
    return None


@lru_cache(maxsize=512)
def _positions(code: CodeType) -> list[Any]:
    return list(code.co_positions())


def arguments(node: ast.AST | None) -> list[ast.expr]:
    """Return what a call, subscript or operation is given, taken apart to single expressions."""
    if isinstance(node, ast.Call):
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return [leaf for one in given for leaf in leaves(one)]
    if isinstance(node, ast.Subscript):
        return list(leaves(node.slice))
    return []


def leaves(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions of which a display or comprehension is made, else the node itself."""
    if isinstance(node, _DISPLAYS):
        for element in node.elts:
            yield from leaves(element)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from leaves(value)
    elif isinstance(node, _COMPREHENSIONS):
        yield from leaves(node.elt)
    elif isinstance(node, ast.IfExp):
        yield from leaves(node.body)
        yield from leaves(node.orelse)
    elif not isinstance(node, ast.Starred):
        yield node


def best(file: Instrumented, candidates: list[ast.expr], wanted: Wanted) -> list[ast.expr]:
    """Return the candidates that hold the value, by the strongest evidence that there is."""
    scored = [(wanted.match(file.numbers[node]), node) for node in candidates]
    top = max((score for score, _ in scored), default=0)
    return [node for score, node in scored if score == top] if top else []


def stored(spot: Spot) -> list[ast.expr]:
    """Return what is being stored where the spot is the target of an assignment."""
    node = spot.node
    if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
        parent = spot.file.parents.get(node)
        if isinstance(parent, ast.Assign):
            return list(leaves(parent.value))
    return []


def results(file: Instrumented, function: ast.expr) -> list[ast.expr]:
    """Return the expressions that a function returns which is given by name or as a lambda."""
    if isinstance(function, ast.Lambda):
        return list(leaves(function.body))
    found: list[ast.expr] = []
    if isinstance(function, ast.Name):
        for node in file.nodes:
            if isinstance(node, ast.FunctionDef) and node.name == function.id:
                for one in ast.walk(node):
                    if isinstance(one, ast.Return) and one.value is not None:
                        found += leaves(one.value)
    return found
