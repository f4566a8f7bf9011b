"""TN201: a NumPy function is given a tensor."""

from __future__ import annotations

from collections.abc import Iterator

from ashore.fix.facts import table
from ashore.fix.infer.scope import Run
from ashore.fix.meetings import NumpyCall
from ashore.fix.rules.making import quote
from ashore.fix.rules.rule import Rule
from ashore.fix.rules.tensors import tensor_site
from ashore.fix.sites import Site

_CONVERTS = table("numpy").words("converts") | table("numpy").words("keeps_tensor")
_NEEDS_ARRAY = table("numpy").words("needs_array")
_TORCH_HAS = table("numpy").words("torch_has")


def check(run: Run, meeting: NumpyCall) -> Iterator[Site]:
    """Report each argument that is a tensor NumPy cannot read."""
    needs_array = meeting.name in _NEEDS_ARRAY
    if not needs_array and meeting.name not in _CONVERTS:
        return
    for place, argument in enumerate(meeting.arguments):
        message = f"`{meeting.callee}` is given the tensor `{quote(run, argument.node)}`"
        if needs_array:
            message += ", which fails even on the CPU"
        if meeting.name in _TORCH_HAS:
            message += f"; `torch.{meeting.name}` stays on the device"
        as_array = needs_array and place == 0
        yield from tensor_site(
            run, meeting, RULE.id, argument.node, argument.value, message, as_array=as_array
        )


RULE = Rule("TN201", "a NumPy function is given a tensor", (NumpyCall,), check)
