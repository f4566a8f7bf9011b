"""Sites for lists of tensors that are given to something that works on arrays.

The repair goes where an element is made (a display, a comprehension, an append) if nothing else
looks at the list, else to the call itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ashore.fix.infer.scope import Run, key_of
from ashore.fix.list_uses import Harmless, is_harmless
from ashore.fix.meetings import LibraryCall, Meeting, NumpyCall, PlotCall
from ashore.fix.rules.making import is_safe, level_of, make_site, operations
from ashore.fix.sites import OPERATIONS, Change, Convert, Level, Site, Wrap
from ashore.fix.values import Value, as_tensor, element_of

_DEEPEST = 3
_LOOKING = ("append", "extend", "clear", "insert", "pop", "popleft", "appendleft")
_HARMLESS = ("len", "print", "bool")
_HOST_CALLS = (NumpyCall, PlotCall, LibraryCall)
_DISPLAYS = (ast.List, ast.Tuple, ast.Set)
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp)


def list_site(
    run: Run,
    meeting: Meeting,
    rule: str,
    node: ast.expr,
    value: Value,
    message: str,
    *,
    at_best: Level = Level.SURE,
    rewrite: Change | None = None,
) -> Iterator[Site]:
    """Yield a site if `value`, of the expression `node`, is a list with tensors NumPy cannot read.

    `rewrite` replaces the whole call where the gradient of its result is needed.
    """
    found = _tensor_inside(value)
    if found is None:
        return
    element, depth = found
    if meeting.context.no_grad:
        element = element._replace(grad="no")
    if is_safe(element):
        return
    level = max(level_of(element), at_best)
    note = _where_filled(value)
    site = make_site(run, meeting, rule, level, node, message + note, element)
    if site.blocked and rewrite is not None and not meeting.context.untouchable:
        told = f"{site.message}; its gradient is needed, so that torch has to do it"
        yield _with(site, (rewrite,), message=told, blocked="")
        return
    changes = _changes(run, meeting, node, value, element, depth)
    blocked = (
        site.blocked if changes else site.blocked or "where its elements come from is not seen"
    )
    yield _with(site, changes, blocked=blocked)


def _with(site: Site, changes: tuple[Change, ...], blocked: str, message: str = "") -> Site:
    return site._replace(changes=changes, blocked=blocked, message=message or site.message)


def _tensor_inside(value: Value) -> tuple[Value, int] | None:
    """Return the worst tensor in nested lists and how deep it lies."""
    depth = 0
    while value.kind in ("list", "tuple") and depth < _DEEPEST:
        if value.kind == "tuple":
            tensors = [one for one in map(as_tensor, value.elements) if one is not None]
            unsafe = [one for one in tensors if not is_safe(one)]
            if unsafe:
                return unsafe[0], depth + 1
        value = element_of(value)
        depth += 1
    made = as_tensor(value)
    return None if made is None or depth == 0 else (made, depth)


def _where_filled(value: Value) -> str:
    lines = sorted({node.lineno for node in value.filled})
    return f" (filled at line {lines[0]})" if len(lines) == 1 and value.kind == "list" else ""


def _changes(
    run: Run, meeting: Meeting, node: ast.expr, value: Value, element: Value, depth: int
) -> tuple[Change, ...]:
    direct = _elements_of(node)
    if direct is not None:
        return _convert_all(run, direct)
    if value.kind == "list" and value.filled and _only_numpy_looks(run, meeting, node):
        changes = _convert_all(run, list(value.filled))
        if changes:
            return changes
    if depth == 1 and value.kind in ("list", "tuple") and not element.mixed:
        suffix = "".join(f".{name}()" for name in _ordered(element))
        span = run.module.source.span(node)
        return (Wrap(span, f"[t{suffix} for t in ", "]"),)
    return ()


def _ordered(element: Value) -> list[str]:
    needed = {"item"} if element.scalar else operations(element)
    return [name for name in OPERATIONS if name in needed]


def _elements_of(node: ast.expr) -> list[ast.expr] | None:
    if isinstance(node, _DISPLAYS):
        return list(node.elts)
    return [node.elt] if isinstance(node, _COMPREHENSIONS) else None


def _convert_all(run: Run, nodes: list[ast.expr]) -> tuple[Change, ...]:
    """Return conversions of all tensors among elements; nothing if one is out of reach."""
    changes: list[Change] = []
    for node in nodes:
        value = run.elements.get(node)
        if value is None or value.kind == "plain":
            continue
        nested = _elements_of(node)
        if nested is not None:
            if _tensor_inside(value) is not None:
                inner = _convert_all(run, nested)
                if not inner:
                    return ()
                changes += inner
            continue
        made = as_tensor(value)
        if isinstance(node, ast.Starred) or (made is None and _tensor_inside(value) is not None):
            return ()
        if made is not None and not is_safe(made):
            needed = {"item"} if made.scalar else operations(made)
            changes.append(Convert(run.module.source.span(node), frozenset(needed)))
    return tuple(changes)


def _only_numpy_looks(run: Run, meeting: Meeting, node: ast.expr) -> bool:
    """Tell whether a list is only filled, counted, and given to things that want arrays."""
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        node = node.value
    key = key_of(node)
    if not key:
        return False
    parents = _parents(run)
    root = key.partition("[")[0].partition(".")[0]
    scope: ast.AST = meeting.context.function or run.module.source.tree
    if root == "self" and meeting.context.class_name in run.module.classes:
        scope = run.module.classes[meeting.context.class_name].node
    elif meeting.context.function is not None and not _is_local(meeting.context.function, root):
        scope = run.module.source.tree
    for other in ast.walk(scope):
        if not isinstance(other, ast.Name) or other.id != root or isinstance(other.ctx, ast.Store):
            continue
        if not _harmless(run, other, key, parents):
            return False
    return True


def _is_local(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(function)
    )


def _harmless(run: Run, node: ast.expr, key: str, parents: dict[ast.AST, ast.AST]) -> bool:
    """Tell whether this use of the key's root leaves the list alone, or wants arrays itself."""
    while key_of(node) != key:
        parent = parents.get(node)
        if not isinstance(parent, ast.Attribute | ast.Subscript) or parent.value is not node:
            return False
        if not key.startswith(key_of(parent) or "\0"):
            return bool(key_of(parent))  # another part of the same thing
        node = parent
    return is_harmless(
        node, parents, Harmless(_LOOKING, _HARMLESS, lambda call: _is_met(run, call))
    )


def _is_met(run: Run, call: ast.Call) -> bool:
    return any((kind, call) in run.meetings for kind in _HOST_CALLS)


def _parents(run: Run) -> dict[ast.AST, ast.AST]:
    if run.parents is None:
        run.parents = {
            child: parent
            for parent in ast.walk(run.module.source.tree)
            for child in ast.iter_child_nodes(parent)
        }
    return run.parents
