"""Let what is written into `tensor.numpy()` arrive in the tensor, which a copy does not do."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ashore.fix.dynamic.notes import Note, Spot
from ashore.fix.dynamic.torch_texts import imports_torch
from ashore.fix.sites import OPERATIONS, Change, Convert, Replace, Wrap
from ashore.fix.source import Source

if TYPE_CHECKING:
    from ashore.fix.dynamic.making import Maker

WHY = "the array is written to, and it could not be seen where the tensor should get it back"
_BODIES = ("body", "orelse", "finalbody")

Found = tuple[Spot, tuple[Change, ...], str]


def write_changes(maker: Maker, note: Note) -> Found:
    """Return the conversion, and a statement that copies the array back after its last use."""
    source, node = maker.source(note.spot), maker.node(note.spot)
    failed: Found = (note.spot, (), WHY)
    if not isinstance(node, ast.Call) or len(note.targets) != 1 or note.inside:
        return failed
    target = note.targets[0]
    tensor = maker.node(target.spot)
    if tensor is None or target.mixed or target.spot.path != note.spot.path:
        return failed
    parents = {c: p for p in ast.walk(source.tree) for c in ast.iter_child_nodes(p)}
    statement: ast.AST = node
    while not isinstance(statement, ast.stmt):
        statement = parents[statement]
    block = _block(parents.get(statement), statement)
    if block is None or not _stands_alone(source, statement) or not _can_be_named(tensor):
        return failed
    back = source.text(tensor) + (".detach()" if "detach" in target.needs else "")
    if isinstance(statement, ast.Assign) and statement.value is node:
        return _after_last_use(source, note, statement, block, tensor, back) or failed
    if isinstance(statement, ast.Expr) and target.receiver:
        return note.spot, _around(source, statement, node, tensor, back, target.needs), ""
    return failed


def _after_last_use(
    source: Source,
    note: Note,
    statement: ast.Assign,
    block: list[ast.stmt],
    tensor: ast.expr,
    back: str,
) -> Found | None:
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    name = statement.targets[0].id
    root = next(one.id for one in ast.walk(tensor) if isinstance(one, ast.Name))
    later = block[block.index(statement) + 1 :]
    users = [one for one in later if _mentions(one, name)]
    text = f"{back}.copy_(torch.as_tensor({name}))"
    if not users or not imports_torch(source):
        return None
    last = users[-1]
    between = later[: later.index(last) + 1]
    if any(_binds(one, root) or _binds(one, name) for one in between):
        return None
    indent = " " * last.col_offset
    target = note.targets[0]
    convert = Convert(source.span(tensor), target.needs, target.receiver)
    if isinstance(last, ast.Return):
        change = Wrap(source.span(last), f"{text}\n{indent}", "")
    elif any(isinstance(one, ast.Return) for one in ast.walk(last)):
        return None
    else:
        change = Wrap(source.span(last), "", f"\n{indent}{text}")
    return note.spot, (convert, change), ""


def _around(
    source: Source,
    statement: ast.Expr,
    node: ast.Call,
    tensor: ast.expr,
    back: str,
    needs: frozenset[str],
) -> tuple[Change, ...]:
    """Rewrite `fill(t.numpy())` in three statements, with a name for the array."""
    name = "".join(c if c.isalnum() else "_" for c in ast.unparse(tensor)).strip("_") + "_array"
    taken = {one.id for one in ast.walk(source.tree) if isinstance(one, ast.Name)}
    while name in taken:
        name += "_"
    indent = " " * statement.col_offset
    suffix = "".join(f".{one}()" for one in OPERATIONS if one in needs)
    whole, inner = source.span(statement), source.span(node)
    before = source.body[whole.start : inner.start].decode()
    after = source.body[inner.end : whole.end].decode()
    lines = [
        f"{name} = {source.text(tensor)}{suffix}.numpy()",
        f"{before}{name}{after}",
        f"{back}.copy_(torch.as_tensor({name}))",
    ]
    return (Replace(whole, f"\n{indent}".join(lines)),)


def _block(parent: ast.AST | None, statement: ast.AST) -> list[ast.stmt] | None:
    for field in _BODIES:
        block = getattr(parent, field, None)
        if isinstance(block, list) and statement in block:
            return block
    return None


def _stands_alone(source: Source, statement: ast.stmt) -> bool:
    """Tell whether a statement has its lines for itself, indented by spaces."""
    start, end = source.span(statement)
    line = source.lines[statement.lineno - 1]
    rest = source.line_text(source.line_of(end))[end - source.lines[source.line_of(end) - 1] :]
    return not source.body[line:start].strip(b" ") and not rest.partition("#")[0].strip()


def _can_be_named(tensor: ast.expr) -> bool:
    """Tell whether an expression may be written again: names, attributes and `.detach()`."""
    while isinstance(tensor, ast.Attribute | ast.Call):
        if isinstance(tensor, ast.Call):
            func = tensor.func
            if tensor.args or not isinstance(func, ast.Attribute) or func.attr != "detach":
                return False
            tensor = func.value
        else:
            tensor = tensor.value
    return isinstance(tensor, ast.Name)


def _mentions(statement: ast.stmt, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(statement))


def _binds(statement: ast.stmt, name: str) -> bool:
    """Tell whether a statement gives a name to something else; `name += …` does not."""
    kept = {one.target for one in ast.walk(statement) if isinstance(one, ast.AugAssign)}
    return any(
        isinstance(one, ast.Name)
        and one.id == name
        and isinstance(one.ctx, ast.Store | ast.Del)
        and one not in kept
        for one in ast.walk(statement)
    )
