"""TN401: the result of `.to()`, `.cpu()`, `.detach()` or a cast is dropped."""

from __future__ import annotations

from collections.abc import Iterator

from ashore.fix.infer.scope import Run
from ashore.fix.meetings import Dropped
from ashore.fix.rules.making import make_site
from ashore.fix.rules.rule import Rule
from ashore.fix.sites import Level, Site, Wrap


def check(run: Run, meeting: Dropped) -> Iterator[Site]:
    """Report tensors; of unknown values only `.detach()`, which modules do not have."""
    value = meeting.value
    if value.kind != "tensor" and meeting.method != "detach":
        return
    if value.kind == "tensor" and value.weak:
        return
    level = Level.SURE if value.kind == "tensor" else Level.MAYBE  # streams detach as well
    target = run.module.source.text(meeting.receiver)
    message = f"the result of `.{meeting.method}()` is dropped; `{target}` stays as it was"
    change = Wrap(run.module.source.span(meeting.node), f"{target} = ", "")
    yield make_site(
        run, meeting, RULE.id, level, meeting.node, message, value, [change], unsafe=True
    )


RULE = Rule("TN401", "the result of a conversion is dropped", (Dropped,), check)
