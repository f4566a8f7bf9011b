"""What a rule is. Each file `tn*.py` beside this one makes one; `rules/__init__.py` lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ashore.fix.infer.scope import Run
from ashore.fix.meetings import Meeting
from ashore.fix.sites import Site


class Rule(NamedTuple):
    """Hold a rule: its id, its title, the kinds of meetings it looks at, and its check."""

    id: str
    title: str
    meetings: tuple[type[Meeting], ...]
    check: Callable[[Run, Any], Iterator[Site]]
