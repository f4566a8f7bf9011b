"""TN301: a module is given a NumPy array."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ashore.fix.infer.scope import Run
from ashore.fix.meetings import ModuleInput
from ashore.fix.rules.making import make_site, quote
from ashore.fix.rules.rule import Rule
from ashore.fix.sites import Level, Site
from ashore.fix.values import ARRAY


def check(run: Run, meeting: ModuleInput) -> Iterator[Site]:
    """Report; device and dtype are the module's, so that a run has to find the repair."""
    called = ast.unparse(meeting.node.func)
    message = f"`{quote(run, meeting.given)}` is a NumPy array; `{called}` takes tensors"
    why = f"device and dtype are those of `{called}`; `ashore fix --run` finds them"
    yield make_site(run, meeting, RULE.id, Level.LIKELY, meeting.given, message, ARRAY, blocked=why)


RULE = Rule("TN301", "a module is given a NumPy array", (ModuleInput,), check)
