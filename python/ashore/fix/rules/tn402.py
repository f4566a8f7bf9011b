"""TN402: only one branch of a choice moves the tensor to the CPU."""

from __future__ import annotations

from collections.abc import Iterator

from ashore.fix.infer.scope import Run
from ashore.fix.meetings import OneSided
from ashore.fix.rules.making import make_site, quote
from ashore.fix.rules.rule import Rule
from ashore.fix.sites import Level, Replace, Site
from ashore.fix.values import UNKNOWN


def check(run: Run, meeting: OneSided) -> Iterator[Site]:
    """Report the branch that raises on MPS or XPU; the other one is right for every tensor."""
    source = run.module.source
    bare = quote(run, meeting.bare)
    message = f"`{bare}` raises on every accelerator that the test does not ask for"
    change = Replace(source.span(meeting.node), source.text(meeting.converting))
    yield make_site(run, meeting, RULE.id, Level.LIKELY, meeting.node, message, UNKNOWN, [change])


RULE = Rule("TN402", "only one branch moves the tensor to the CPU", (OneSided,), check)
