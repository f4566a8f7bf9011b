"""Walk over a module until what its functions give and get does not change; called by project."""

from __future__ import annotations

from ashore.fix.infer import calls, expressions  # noqa: F401 – they register what they handle
from ashore.fix.infer.functions import walk_function
from ashore.fix.infer.module import Module
from ashore.fix.infer.relevance import relevant
from ashore.fix.infer.scope import Follow, Run, Scope
from ashore.fix.infer.statements import walk

_MOST_PASSES = 5


def infer(module: Module, follow: Follow) -> Run:
    """Return what is known of a module, with its meetings."""
    run = Run(module, follow)
    if not module.knows_torch or (module.foreign and not module.has_torch):
        return run
    run.walked = relevant(module)
    known: object = None
    for _ in range(_MOST_PASSES):
        run.meetings.clear()
        run.backward.clear()
        run.written.clear()
        run.calls = {}
        run.stored = {}
        _walk_module(run)
        found = (dict(run.returns), run.calls, run.stored)
        run.arguments = run.calls
        run.attributes = run.stored
        if found == known or (known is None and _needs_one_pass(run)):
            break
        known = found
    return run


def _needs_one_pass(run: Run) -> bool:
    """Tell whether no call of the module's own functions and no attribute could tell more."""
    return not run.calls and not run.stored


def _walk_module(run: Run) -> None:
    scope = Scope(run)
    walk(scope, run.module.source.tree.body)
    run.globals = scope.env
    while run.waiting:
        waiting, run.waiting = run.waiting, []
        for function, class_name in waiting:
            if run.walked is None or function in run.walked:
                walk_function(run, function, class_name, scope)


def begin(module: Module, follow: Follow, depth: int) -> Run:
    """Return a run over a module that others import: its functions are walked when asked for."""
    run = Run(module, follow, depth)
    scope = Scope(run)
    walk(scope, module.source.tree.body)
    run.globals = scope.env
    run.on_demand = dict(run.waiting)
    return run
