"""TN102: `.numpy()` of a tensor that requires grad."""

from __future__ import annotations

from collections.abc import Iterator

from ashore.fix.infer.scope import Run
from ashore.fix.meetings import ToNumpy
from ashore.fix.rules.making import make_site, quote
from ashore.fix.rules.receivers import detached, receiver_change
from ashore.fix.rules.rule import Rule
from ashore.fix.sites import Level, Site

_TENSORS = ("tensor", "output", "unknown", "either")


def check(run: Run, meeting: ToNumpy) -> Iterator[Site]:
    """Report what visibly has a gradient; where nothing is known, only as a maybe."""
    value = meeting.value
    if meeting.context.no_grad or value.grad == "no" or detached(meeting.receiver):
        return
    if value.kind not in _TENSORS or (value.grad != "yes" and value.device != "cpu"):
        return  # TN101 tells of it, and its repair detaches
    quoted = quote(run, meeting.receiver)
    if value.grad == "yes":
        message = f"`{quoted}` requires grad; `.numpy()` refuses it outside no_grad"
        level = Level.SURE if _is_seen(meeting) else Level.LIKELY
    else:
        message = f"`{quoted}` may require grad; `.numpy()` would refuse it"
        level = Level.MAYBE
    changes = [receiver_change(run, meeting.receiver, {"detach"})]
    yield make_site(run, meeting, RULE.id, level, meeting.receiver, message, value, changes)


def _is_seen(meeting: ToNumpy) -> bool:
    """Tell whether the gradient is written down, and no caller can have switched it off."""
    origin = meeting.value.origin
    marked = origin is not None and any(
        word in origin.text for word in ("arameter", "requires_grad")
    )
    return not meeting.value.weak and (marked or meeting.context.function is None)


RULE = Rule("TN102", "`.numpy()` of a tensor that requires grad", (ToNumpy,), check)
