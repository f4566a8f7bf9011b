"""What the rules share: levels, origins, conversions, and sites that the policy has looked at."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ashore.fix.infer.scope import Run
from ashore.fix.meetings import Meeting
from ashore.fix.policy import guard
from ashore.fix.sites import Change, Convert, Level, Site
from ashore.fix.values import Origin, Value

_MOST_QUOTED = 60


def quote(run: Run, node: ast.expr) -> str:
    """Return the text of an expression in one line, short enough for a message."""
    text = " ".join(run.module.source.text(node).split())
    return text if len(text) <= _MOST_QUOTED else text[: _MOST_QUOTED - 1] + "…"


def level_of(value: Value) -> Level:
    """Return how sure it is that a tensor cannot be read by NumPy as it is."""
    if value.weak:
        return Level.MAYBE
    if value.device == "accelerator" or value.grad == "yes":
        return Level.SURE
    return Level.LIKELY


def is_safe(value: Value) -> bool:
    """Tell whether NumPy can read the tensor: on the CPU, no gradient in sight."""
    return value.device == "cpu" and value.grad != "yes"


def operations(value: Value) -> set[str]:
    """Return the conversions after which NumPy can read the tensor."""
    needed = set()
    if value.grad != "no":
        needed.add("detach")
    if value.device != "cpu":
        needed.add("cpu")
    if value.dtype == "bfloat16":
        needed.add("float")
    return needed


def convert(run: Run, node: ast.expr, needed: Iterable[str]) -> Convert:
    """Ask that an expression be followed by conversions."""
    return Convert(run.module.source.span(node), frozenset(needed))


def make_site(
    run: Run,
    meeting: Meeting,
    rule: str,
    level: Level,
    node: ast.expr | ast.stmt,
    message: str,
    value: Value,
    changes: Iterable[Change] = (),
    *,
    unsafe: bool = False,
    blocked: str = "",
) -> Site:
    """Return a site at a node, guarded against changes that would cut a gradient and the like."""
    changes = tuple(changes)
    whole = meeting.node
    assert whole.end_lineno is not None
    return Site(
        rule,
        level,
        run.module.source.span(node),
        message,
        _origin(value, node),
        changes,
        blocked or guard(run, meeting, value),
        unsafe,
        (whole.lineno, whole.end_lineno),
    )


def _origin(value: Value, node: ast.expr | ast.stmt) -> Origin | None:
    origin = value.origin
    if origin is None or origin.line == 0:
        return None
    inside = not origin.path and node.lineno <= origin.line <= (node.end_lineno or 0)
    return None if inside else origin
