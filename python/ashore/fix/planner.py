"""Turn what sites need into edits of the text; one for the static and the dynamic half alike.

All needs of one expression become one edit, so nothing is inserted twice and the order is always
`.detach().cpu().float().numpy()`. A site is repaired completely or not at all.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from ashore.fix.edits import Edit, Side, Span
from ashore.fix.sites import OPERATIONS, PLAIN, Convert, Level, Replace, Site, Wrap
from ashore.fix.source import Source

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Dict, ast.ListComp)


class Plan(NamedTuple):
    """Hold the edits of one file, the sites that they repair, and the stretches written anew."""

    edits: tuple[Edit, ...]
    sites: tuple[Site, ...]
    rewritten: tuple[Span, ...]


def wanted(site: Site, level: Level, unsafe: bool) -> bool:
    """Tell whether a site is one to repair."""
    allowed = unsafe or not site.unsafe
    return site.level <= level and bool(site.changes) and not site.blocked and allowed


def plan(source: Source, sites: Sequence[Site], level: Level, unsafe: bool = False) -> Plan:
    """Return the edits that repair the sites which are wanted and do not collide."""
    nodes = _nodes(source, sites)
    rewrites: dict[Span, Replace | Wrap] = {}
    chosen: list[Site] = []
    for site in sorted((s for s in sites if wanted(s, level, unsafe)), key=_replacing_first):
        if _fits(site, nodes, rewrites):
            chosen.append(site)
            for change in site.changes:
                if not isinstance(change, Convert):
                    rewrites[change.span] = change
    edits: list[Edit] = []
    for span, change in rewrites.items():
        edits += _rewriting(span, change)
    for span, (operations, receiver) in _united(chosen).items():
        edits += _converting(source, nodes[span], span, operations, receiver)
    return Plan(tuple(edits), tuple(chosen), tuple(rewrites))


def _nodes(source: Source, sites: Sequence[Site]) -> dict[Span, ast.expr]:
    """Return the expressions that sites want converted."""
    spans = {c.span for site in sites for c in site.changes if isinstance(c, Convert)}
    found = {span: source.expression(span) for span in spans}
    return {span: node for span, node in found.items() if node is not None}


def _replacing_first(site: Site) -> tuple[bool, Level, int]:
    return all(isinstance(c, Convert) for c in site.changes), site.level, site.span.start


def _fits(site: Site, nodes: dict[Span, ast.expr], rewrites: dict[Span, Replace | Wrap]) -> bool:
    for change in site.changes:
        if isinstance(change, Convert) and change.span not in nodes:
            return False
        for span, other in rewrites.items():
            inside = span.start <= change.span.start and change.span.end <= span.end
            apart = change.span.end <= span.start or span.end <= change.span.start
            if apart or (isinstance(other, Wrap) and isinstance(change, Convert) and inside):
                continue
            around = change.span.start <= span.start and span.end <= change.span.end
            if isinstance(change, Convert) and around and change.span != span:
                continue  # a suffix behind something inside of which more is written anew
            if change == other:
                continue
            return False
    return True


def _united(sites: Sequence[Site]) -> dict[Span, tuple[frozenset[str], bool]]:
    needs: dict[Span, tuple[frozenset[str], bool]] = {}
    for site in sites:
        for change in site.changes:
            if isinstance(change, Convert):
                known, receiver = needs.get(change.span, (frozenset(), False))
                needs[change.span] = (known | change.operations, receiver or change.receiver)
    return needs


def _rewriting(span: Span, change: Replace | Wrap) -> list[Edit]:
    if isinstance(change, Replace):
        return [Edit(span.start, span.end - span.start, change.text, Side.START, span)]
    return [
        Edit(span.start, 0, change.before, Side.START, span),
        Edit(span.end, 0, change.after, Side.END, span),
    ]


def _converting(
    source: Source, node: ast.expr, span: Span, operations: frozenset[str], receiver: bool
) -> list[Edit]:
    """Return the edits that put conversions behind an expression."""
    edits: list[Edit] = []
    plain = [name for name in PLAIN if name in operations]
    if plain:
        operations = frozenset(plain[:1])
    elif "detach" in operations:
        moved = _cpu_in_chain(node)
        if moved is not None:  # people write `.detach().cpu()`, in this order
            inner = source.span(moved)
            at = before_dot(source.body, inner.end)
            edits.append(Edit(at, 0, ".detach()", Side.END, inner))
            operations -= {"detach"}
    suffix = "".join(f".{name}()" for name in OPERATIONS if name in operations)
    if not suffix:
        return edits
    if receiver:
        edits.append(Edit(before_dot(source.body, span.end), 0, suffix, Side.END, span))
    elif isinstance(node, _ATOMS):
        edits.append(Edit(span.end, 0, suffix, Side.END, span))
    else:
        edits.append(Edit(span.start, 0, "(", Side.START, span))
        edits.append(Edit(span.end, 0, f"){suffix}", Side.END, span))
    return edits


def _cpu_in_chain(node: ast.expr) -> ast.expr | None:
    """Return what `.cpu()` is called on, if the chain has it."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "cpu" and not node.args:
            return node.func.value
        node = node.func.value
    return None


def before_dot(body: bytes, end: int) -> int:
    """Return the offset behind an expression and the brackets around it, before a dot."""
    at = last = end
    while at < len(body):
        char = body[at : at + 1]
        if char == b")":
            at += 1
            last = at
        elif char in b" \t\r\n\f\\":
            at += 1
        elif char == b"#":
            while at < len(body) and body[at : at + 1] not in b"\r\n":
                at += 1
        else:
            break
    return last if body[at : at + 1] == b"." else end
