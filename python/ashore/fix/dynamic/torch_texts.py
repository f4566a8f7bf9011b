"""Changes that are more than a suffix: arrays into modules, tensors on the wrong device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ashore.fix.dynamic.notes import Note, Spot
from ashore.fix.sites import Change

if TYPE_CHECKING:
    from ashore.fix.dynamic.making import Maker


def torch_changes(maker: Maker, note: Note) -> tuple[Spot, tuple[Change, ...], str] | None:
    """Return the changes of a note that a suffix of ours does not repair, and why not; or None."""
    return None
