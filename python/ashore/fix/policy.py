"""Which places are reported and not changed, and why; asked by every rule.

The principle: a repaired program does on a GPU what the original does on the CPU, and a gradient is
never cut where it is needed.
"""

from __future__ import annotations

import ast

from ashore.fix.infer.scope import Run
from ashore.fix.meetings import Meeting, ToNumpy
from ashore.fix.values import Value

REACHES_BACKWARD = "the result reaches backward(), so that its gradient is needed"


def guard(run: Run, meeting: Meeting, value: Value) -> str:
    """Return why nothing may be changed at a meeting, or an empty string."""
    context = meeting.context
    if context.untouchable:
        return context.untouchable
    if reaches_backward(run, meeting.node):
        return REACHES_BACKWARD
    if context.gradient and value.grad != "no" and not context.no_grad:
        return context.gradient
    if isinstance(meeting, ToNumpy):
        return _written_in_place(run, meeting)
    return ""


def reaches_backward(run: Run, node: ast.AST) -> bool:
    """Tell whether the result of a call flows into `.backward()`."""
    return _identity(node) in run.backward


def _identity(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "end_col_offset", 0)


def _written_in_place(run: Run, meeting: ToNumpy) -> str:
    """Guard an array that shares the tensor's memory and is written to, if the tensor lives on."""
    line = run.written.get(_identity(meeting.node))
    if line is None:
        return ""
    root = meeting.receiver
    while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
        root = root.func if isinstance(root, ast.Call) else root.value
    function = meeting.context.function
    if not isinstance(root, ast.Name):
        return ""
    scope: ast.AST = function if function is not None else run.module.source.tree
    if function is not None and root.id in {arg.arg for arg in function.args.args}:
        lives_on = True
    else:
        lives_on = any(
            isinstance(node, ast.Name) and node.id == root.id and node.lineno > line
            for node in ast.walk(scope)
        )
    why = f"the array is written in place at line {line}, and the tensor would not see that"
    return why if lives_on else ""
