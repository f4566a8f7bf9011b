"""Sites for one tensor that is given to something that works on arrays; used by TN201 to TN205."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ashore.fix.infer.scope import Run
from ashore.fix.meetings import Meeting
from ashore.fix.rules.making import convert, is_safe, level_of, make_site, operations
from ashore.fix.sites import Level, Site
from ashore.fix.values import Value, as_tensor


def tensor_site(
    run: Run,
    meeting: Meeting,
    rule: str,
    node: ast.expr,
    value: Value,
    message: str,
    *,
    at_best: Level = Level.SURE,
    as_array: bool = False,
) -> Iterator[Site]:
    """Yield a site if `value`, of the expression `node`, is a tensor that NumPy cannot read.

    `as_array`: what takes it fails on any tensor, so that `.numpy()` is needed as well.
    """
    made = as_tensor(value)
    if made is None or (is_safe(made) and not (as_array and not made.weak)):
        return
    if meeting.context.no_grad:
        made = made._replace(grad="no")
        if is_safe(made) and not as_array:
            return
    level = max(level_of(made), at_best)
    needed = operations(made) | ({"numpy"} if as_array else set())
    changes = [] if isinstance(node, ast.Starred) else [convert(run, node, needed)]
    yield make_site(run, meeting, rule, level, node, message, made, changes)
