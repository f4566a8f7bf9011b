"""TN101: `.numpy()` of a tensor that may be on an accelerator."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ashore.fix.infer.scope import Run
from ashore.fix.meetings import ToNumpy
from ashore.fix.rules.making import make_site, quote
from ashore.fix.rules.receivers import detached, receiver_change, seen_on_cpu
from ashore.fix.rules.rule import Rule
from ashore.fix.sites import Level, Site


def check(run: Run, meeting: ToNumpy) -> Iterator[Site]:
    """Report unless the receiver is on the CPU as far as one can see."""
    value = meeting.value
    if value.device == "cpu" or value.kind == "batch" or seen_on_cpu(meeting.receiver):
        return
    sure = value.device == "accelerator" and value.kind in ("tensor", "output") and not value.weak
    needed = {"cpu"}
    gradless = meeting.context.no_grad or detached(meeting.receiver) or value.grad == "no"
    if meeting.context.gradient and value.grad == "unknown":
        gradless = True  # `.cpu()` cuts nothing, and `.numpy()` refuses what has a gradient
    if not gradless and "ultralytics" not in run.module.packages:  # whose results are no tensors
        needed.add("detach")
    message = (
        f"`{quote(run, meeting.receiver)}` may be on an accelerator; "
        "`.numpy()` reads CPU memory only"
    )
    if gradless:
        value = value._replace(grad="no")
    level = Level.SURE if sure else Level.LIKELY
    changes = [receiver_change(run, meeting.receiver, needed)]
    node: ast.expr = meeting.receiver
    yield make_site(run, meeting, RULE.id, level, node, message, value, changes)


RULE = Rule("TN101", "`.numpy()` of a tensor that may be on an accelerator", (ToNumpy,), check)
