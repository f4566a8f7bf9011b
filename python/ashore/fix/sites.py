"""A place where a tensor and NumPy meet wrongly, and what its repair needs.

Rules make sites from what was inferred; the dynamic half makes the same from what it recorded. The
planner turns sites into edits and never asks who found them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ashore.fix.edits import Span
    from ashore.fix.values import Origin


class Level(IntEnum):
    """Say how sure a report is; less is surer."""

    SURE = 0
    LIKELY = 1
    MAYBE = 2

    @property
    def word(self) -> str:
        """Return the name as people write it."""
        return self.name.lower()


# What can be appended to an expression, in the order in which it must stand.
OPERATIONS = ("detach", "cpu", "float", "resolve_conj", "resolve_neg", "numpy", "item", "tolist")
PLAIN = ("item", "tolist")  # these need nothing before them


class Convert(NamedTuple):
    """Ask that an expression be followed by conversions, such as `.detach().cpu()`.

    `receiver`: it already stands before a `.`, so that nothing needs to be wrapped.
    """

    span: Span
    operations: frozenset[str]
    receiver: bool = False


class Replace(NamedTuple):
    """Ask that a whole expression or statement be written anew."""

    span: Span
    text: str


class Wrap(NamedTuple):
    """Ask that text be put before and after a whole expression or statement."""

    span: Span
    before: str
    after: str


Change = Convert | Replace | Wrap


class Site(NamedTuple):
    """Hold one report."""

    rule: str
    level: Level
    span: Span
    message: str
    origin: Origin | None = None
    changes: tuple[Change, ...] = ()
    blocked: str = ""  # why it is only reported
    unsafe: bool = False  # the repair changes what the program computes
    lines: tuple[int, int] = (0, 0)  # first and last, where a comment may silence it


def by_position(site: Site) -> tuple[int, int, str]:
    """Return the key by which reports are sorted."""
    return (site.span.start, site.span.end, site.rule)
