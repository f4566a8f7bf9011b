"""Prove that edits have changed nothing but what they were for; used by repair."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ashore.fix.edits import Edit, Refused, Span, in_order
from ashore.fix.sites import OPERATIONS
from ashore.fix.source import Source


def prove(source: Source, new: Source, edits: Sequence[Edit], rewritten: Sequence[Span]) -> None:
    """Raise Refused unless the new program is the old one but for conversions and rewrites."""
    before = _skeleton(source, set(rewritten))
    after = _skeleton(new, {_moved(span, edits) for span in rewritten})
    if before != after:
        raise Refused("the edited text would be another program")


def _moved(span: Span, edits: Sequence[Edit]) -> Span:
    """Return where a rewritten stretch ends up."""
    start, end = span
    ordered = in_order(edits)
    own = [place for place, edit in enumerate(ordered) if edit.owner == span]
    for place, edit in enumerate(ordered):
        grown = len(edit.text.encode()) - edit.length
        if place < own[0]:
            start += grown
        if place <= own[-1]:
            end += grown
    return Span(start, end)


def _skeleton(source: Source, rewritten: set[Span]) -> str:
    """Return a tree as text, without conversions and with a blank for what is written anew."""

    class Strip(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST | None:
            if isinstance(node, ast.expr) and rewritten and source.span(node) in rewritten:
                return ast.Name("rewritten")
            if isinstance(node, ast.stmt) and rewritten:
                start, end = source.span(node)
                for span in rewritten:
                    if span.start <= start and end <= span.end:  # one statement may become several
                        return ast.Pass() if start == span.start else None
            visited: ast.AST | None = super().visit(node)
            return visited

        def visit_Call(self, node: ast.Call) -> ast.AST:
            self.generic_visit(node)
            func = node.func
            if not isinstance(func, ast.Attribute) or node.args or node.keywords:
                return node
            return func.value if func.attr in OPERATIONS else node

    tree = Strip().visit(ast.parse(source.body.decode()))
    assert tree is not None
    return ast.dump(tree)
