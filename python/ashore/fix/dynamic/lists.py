"""Where to convert the tensors of a list that met NumPy: where they are put in, or at the end."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ashore.fix.dynamic.notes import Note, Target
from ashore.fix.list_uses import Harmless, is_harmless
from ashore.fix.sites import OPERATIONS, Change, Convert, Replace, Wrap
from ashore.fix.source import Source

if TYPE_CHECKING:
    from ashore.fix.dynamic.making import Maker

_MIXED = "the container holds other things than tensors, and not all were seen to be put in"


def list_changes(
    maker: Maker,
    note: Note,
    target: Target,
    node: ast.expr,
    notes: Sequence[Note],
    careful: bool,
) -> tuple[list[tuple[Source, tuple[Change, ...]]], str]:
    """Return changes for each file, or why there are none.

    An element is converted where it is put in if nothing but NumPy and its like looks at the list,
    so that no later use of it (a backward(), an `.item()`) breaks.
    """
    source = maker.source(target.spot)
    needs = _element_needs(target)
    fills = [(maker.source(one.spot), maker.node(one.spot), one) for one in target.fills]
    known = bool(fills) and target.complete and all(n is not None for _, n, _ in fills)
    if known and not careful and _only_given_away(source, node, notes):
        by_file: dict[str, tuple[Source, list[Change]]] = {}
        for filling, element, one in fills:
            assert element is not None
            _, changes = by_file.setdefault(filling.path, (filling, []))
            changes.append(Convert(filling.span(element), _element_needs(one)))
        return [(file, tuple(changes)) for file, changes in by_file.values()], ""
    if note.how == "json":
        return _with_default(source, maker.node(note.spot))
    if not target.flat or target.container not in ("list", "tuple"):
        return [], _MIXED
    suffix = "".join(f".{name}()" for name in OPERATIONS if name in needs)
    return [(source, (Wrap(source.span(node), f"[t{suffix} for t in ", "]"),))], ""


def _with_default(
    source: Source, call: ast.expr | None
) -> tuple[list[tuple[Source, tuple[Change, ...]]], str]:
    """Tell json itself what to do with a tensor."""
    options = [k.arg for k in call.keywords] if isinstance(call, ast.Call) else [None]
    if not isinstance(call, ast.Call) or {"default", "cls", None} & set(options):
        return [], _MIXED
    last = [*call.args, *(keyword.value for keyword in call.keywords)][-1]
    whole, end = source.span(call), source.span(last).end
    before, after = source.body[whole.start : end].decode(), source.body[end : whole.end].decode()
    text = f"{before}, default=lambda tensor: tensor.tolist(){after}"
    return [(source, (Replace(whole, text),))], ""


def _element_needs(target: Target) -> frozenset[str]:
    """Return what an element needs: a number with a gradient becomes a plain one."""
    return frozenset({"item"}) if target.scalar and target.grad else target.needs


def _only_given_away(source: Source, node: ast.expr, notes: Sequence[Note]) -> bool:
    """Tell whether a list is only filled, counted, and given to what was recorded."""
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        node = node.value
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return False
    recorded = {(n.spot.path, n.spot.at) for n in notes}
    harmless = Harmless(
        ("append", "extend", "insert", "clear", "appendleft"),
        ("len", "print", "bool", "range", "enumerate"),
        lambda call: (source.path, _place(call)) in recorded,
    )
    parents = {c: p for p in ast.walk(source.tree) for c in ast.iter_child_nodes(p)}
    wanted = ast.unparse(node)
    for other in ast.walk(_scope(source, node, parents)):
        if not isinstance(other, type(node)) or ast.unparse(other) != wanted:
            continue
        if not is_harmless(other, parents, harmless):
            return False
    return True


def _scope(source: Source, node: ast.expr, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """Return the function whose own name it is, else the class or the whole file."""
    root: ast.AST = node
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    around: ast.AST | None = node
    while around is not None and isinstance(root, ast.Name) and root.id != "self":
        around = parents.get(around)
        if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            isinstance(one, ast.Name) and one.id == root.id and isinstance(one.ctx, ast.Store)
            for one in ast.walk(around)
        ):
            return around
    return source.tree


def _place(call: ast.Call) -> tuple[int, int, int | None, int | None]:
    return call.lineno, call.col_offset, call.end_lineno, call.end_col_offset
