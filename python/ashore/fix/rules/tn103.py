"""TN103: `.numpy()` of a bfloat16 tensor."""

from __future__ import annotations

from collections.abc import Iterator

from ashore.fix.infer.scope import Run
from ashore.fix.meetings import ToNumpy
from ashore.fix.rules.making import make_site, quote
from ashore.fix.rules.receivers import chain_names, receiver_change
from ashore.fix.rules.rule import Rule
from ashore.fix.sites import Level, Site

_CASTS = {"float", "double", "half", "long", "int", "bool", "byte", "short", "type"}


def check(run: Run, meeting: ToNumpy) -> Iterator[Site]:
    """Report bfloat16; an unknown dtype only as a maybe, which is never changed."""
    value = meeting.value
    quoted = quote(run, meeting.receiver)
    if value.dtype == "bfloat16":
        message = f"`{quoted}` is bfloat16, which NumPy does not have"
        changes = [receiver_change(run, meeting.receiver, {"float"})]
        level = Level.MAYBE if value.weak else Level.SURE
        yield make_site(run, meeting, RULE.id, level, meeting.receiver, message, value, changes)
    elif not value.dtype and not _CASTS & set(chain_names(meeting.receiver)):
        message = f"`{quoted}` may be bfloat16, which NumPy does not have"
        why = "`.float()` would change other dtypes"
        yield make_site(
            run, meeting, RULE.id, Level.MAYBE, meeting.receiver, message, value, blocked=why
        )


RULE = Rule("TN103", "`.numpy()` of a bfloat16 tensor", (ToNumpy,), check)
