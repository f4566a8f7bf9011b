"""TN203: a plotting function is given a tensor."""

from __future__ import annotations

from collections.abc import Iterator

from ashore.fix.infer.scope import Run
from ashore.fix.meetings import PlotCall
from ashore.fix.rules.lists import list_site
from ashore.fix.rules.making import quote
from ashore.fix.rules.rule import Rule
from ashore.fix.rules.tensors import tensor_site
from ashore.fix.sites import Level, Site


def check(run: Run, meeting: PlotCall) -> Iterator[Site]:
    """Report tensors, and lists of them."""
    for argument in meeting.arguments:
        quoted = quote(run, argument.node)
        message = f"`{meeting.callee}` makes a NumPy array of `{quoted}`"
        for make in (tensor_site, list_site):
            yield from make(
                run,
                meeting,
                RULE.id,
                argument.node,
                argument.value,
                message,
                at_best=Level.LIKELY,
            )


RULE = Rule("TN203", "a plotting function is given a tensor", (PlotCall,), check)
