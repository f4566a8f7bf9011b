"""TN202: a NumPy function is given a list of tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ashore.fix.facts import table
from ashore.fix.infer.scope import Run
from ashore.fix.meetings import NumpyCall
from ashore.fix.rules.lists import list_site
from ashore.fix.rules.making import quote
from ashore.fix.rules.rule import Rule
from ashore.fix.sites import Replace, Site

_FUNCTIONS = (
    table("numpy").words("converts")
    | table("numpy").words("keeps_tensor")
    | table("numpy").words("needs_array")
)
_TORCH_REDUCES = ("sum", "mean")


def check(run: Run, meeting: NumpyCall) -> Iterator[Site]:
    """Report each argument that is a list with tensors in it."""
    if meeting.name not in _FUNCTIONS:
        return
    for argument in meeting.arguments:
        message = f"`{meeting.callee}` is given `{quote(run, argument.node)}`, which holds tensors"
        yield from list_site(
            run,
            meeting,
            RULE.id,
            argument.node,
            argument.value,
            message,
            rewrite=_torch_reduction(run, meeting),
        )


def _torch_reduction(run: Run, meeting: NumpyCall) -> Replace | None:
    """Return `torch.stack(list).sum()` for `np.sum(list)`, where torch can do it."""
    if meeting.name not in _TORCH_REDUCES or len(meeting.arguments) != len(meeting.node.args):
        return None
    if len(meeting.arguments) != 1 or run.module.imports.get("torch") != "torch":
        return None
    given = meeting.arguments[0].node
    source = run.module.source
    if isinstance(given, ast.GeneratorExp):
        elements = f"[{source.text(given).removeprefix('(').removesuffix(')')}]"
    elif isinstance(given, ast.List | ast.ListComp | ast.Name):
        elements = source.text(given)
    else:
        return None
    return Replace(source.span(meeting.node), f"torch.stack({elements}).{meeting.name}()")


RULE = Rule("TN202", "a NumPy function is given a list of tensors", (NumpyCall,), check)
