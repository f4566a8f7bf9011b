"""TN204: a library that works on NumPy arrays, or a helper that does, is given a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ashore.fix.facts import table
from ashore.fix.infer.scope import Run
from ashore.fix.meetings import Argument, HelperCall, HostCall, LibraryCall
from ashore.fix.rules.lists import list_site
from ashore.fix.rules.making import quote
from ashore.fix.rules.rule import Rule
from ashore.fix.rules.tensors import tensor_site
from ashore.fix.sites import Level, Site

_NEEDS_ARRAY = table("libraries").words("needs_array")


def check(run: Run, meeting: HostCall) -> Iterator[Site]:
    """Report tensors, lists of them, and those in a dict that is written out."""
    if isinstance(meeting, HelperCall):
        for place, reason in meeting.reasons:
            argument = meeting.arguments[place]
            quoted = quote(run, argument.node)
            message = f"`{meeting.callee}` gives the tensor `{quoted}` to NumPy ({reason})"
            yield from _sites(run, meeting, argument, message)
        return
    for argument in meeting.arguments:
        for one in _opened(run, argument):
            message = f"`{meeting.callee}` works on NumPy arrays; `{quote(run, one.node)}` "
            message += "holds tensors" if one.value.kind in ("list", "tuple") else "is a tensor"
            yield from _sites(run, meeting, one, message)


def _opened(run: Run, argument: Argument) -> Iterator[Argument]:
    if isinstance(argument.node, ast.Dict):
        for node in argument.node.values:
            if node in run.elements:
                yield Argument(node, run.elements[node])
    else:
        yield argument


def _sites(run: Run, meeting: HostCall, argument: Argument, message: str) -> Iterator[Site]:
    yield from tensor_site(
        run,
        meeting,
        RULE.id,
        argument.node,
        argument.value,
        message,
        at_best=Level.LIKELY,
        as_array=meeting.name in _NEEDS_ARRAY,
    )
    yield from list_site(
        run, meeting, RULE.id, argument.node, argument.value, message, at_best=Level.LIKELY
    )


RULE = Rule(
    "TN204",
    "a function that works on NumPy arrays is given a tensor",
    (LibraryCall, HelperCall),
    check,
)
