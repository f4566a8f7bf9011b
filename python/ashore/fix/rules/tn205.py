"""TN205: a tensor is stored in a NumPy array, or indexes one."""

from __future__ import annotations

from collections.abc import Iterator

from ashore.fix.infer.scope import Run
from ashore.fix.meetings import ArrayIndex, ArrayStore
from ashore.fix.rules.making import quote
from ashore.fix.rules.rule import Rule
from ashore.fix.rules.tensors import tensor_site
from ashore.fix.sites import Level, Site


def check(run: Run, meeting: ArrayStore | ArrayIndex) -> Iterator[Site]:
    """Report, but for single numbers, which NumPy takes from any device."""
    value = meeting.value
    if isinstance(meeting, ArrayIndex):
        if value.scalar:
            return
        node = meeting.index
        message = f"the tensor `{quote(run, node)}` indexes a NumPy array"
    else:
        if value.scalar and meeting.element:
            return
        node = meeting.stored
        message = f"the tensor `{quote(run, node)}` is stored in a NumPy array"
    yield from tensor_site(run, meeting, RULE.id, node, value, message, at_best=Level.LIKELY)


RULE = Rule(
    "TN205", "a tensor is stored in a NumPy array, or indexes one", (ArrayStore, ArrayIndex), check
)
