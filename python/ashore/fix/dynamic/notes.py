"""Read what the processes of a run have noted: JSON lines, checked, and united by key."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

_MOST_BYTES = 64_000_000


class Spot(NamedTuple):
    """Name a stretch of a file as it was when it ran."""

    path: str
    digest: str
    at: tuple[int, int, int, int]


@dataclass(frozen=True)
class Target:
    """Hold an expression that has to be converted."""

    spot: Spot
    needs: frozenset[str]
    scalar: bool = False
    grad: bool = False
    receiver: bool = False
    container: str = ""  # "list", "tuple", …: the tensors are in there
    flat: bool = False  # all that is in there are tensors
    fills: tuple[Target, ...] = ()
    complete: bool = True  # every tensor was put in there by one of the fills
    mixed: bool = False  # the expression has held other things too
    only_tensors: bool = True


@dataclass(frozen=True)
class Note:
    """Hold one meeting: where, how, and the expressions that may be edited."""

    key: str
    spot: Spot
    how: str
    callee: str
    needs: frozenset[str]
    grad: bool
    inside: str
    targets: tuple[Target, ...]
    outer: tuple[Target, ...]
    extra: dict[str, Any]


def read_notes(folder: str) -> list[Note]:
    """Return the notes of all processes; a line that is not whole, or not ours, is left out."""
    united: dict[str, Note] = {}
    for name in sorted(os.listdir(folder)):
        latest: dict[str, Note] = {}
        with open(os.path.join(folder, name), "rb") as file:
            for line in file.read(_MOST_BYTES).splitlines():
                try:
                    note = _note(json.loads(line))
                except (ValueError, KeyError, TypeError, IndexError):
                    continue
                latest[note.key] = note
        for key, note in latest.items():
            united[key] = _united(united[key], note) if key in united else note
    return list(united.values())


_KNOWN = {"key", "path", "digest", "at", "how", "callee", "needs", "grad", "inside"}
_KNOWN |= {"targets", "outer"}


def _note(line: dict[str, Any]) -> Note:
    return Note(
        str(line["key"]),
        _spot(line),
        str(line["how"]),
        str(line["callee"]),
        frozenset(map(str, line["needs"])),
        bool(line["grad"]),
        str(line["inside"]),
        tuple(_target(one) for one in line["targets"]),
        tuple(_target(one) for one in line["outer"]),
        {name: value for name, value in line.items() if name not in _KNOWN},
    )


def _target(line: dict[str, Any]) -> Target:
    return Target(
        _spot(line),
        frozenset(map(str, line["needs"])),
        bool(line["scalar"]),
        bool(line["grad"]),
        bool(line["receiver"]),
        str(line["list"]),
        bool(line["flat"]),
        tuple(_target(one) for one in line["fills"]),
        bool(line["complete"]),
        bool(line["mixed"]),
        bool(line.get("only_tensors", True)),
    )


def _spot(line: dict[str, Any]) -> Spot:
    first, column, last, end = map(int, line["at"])
    return Spot(str(line["path"]), str(line["digest"]), (first, column, last, end))


def _united(a: Note, b: Note) -> Note:
    """Unite what two processes noted of one place."""
    return replace(
        a,
        needs=a.needs | b.needs,
        grad=a.grad or b.grad,
        targets=_united_targets(a.targets, b.targets),
        outer=_united_targets(a.outer, b.outer),
        extra={**a.extra, **{name: value for name, value in b.extra.items() if value}},
    )


def _united_targets(a: tuple[Target, ...], b: tuple[Target, ...]) -> tuple[Target, ...]:
    known = {target.spot: target for target in a}
    for target in b:
        mine = known.get(target.spot)
        if mine is not None:
            target = replace(
                mine,
                needs=mine.needs | target.needs,
                scalar=mine.scalar and target.scalar,
                grad=mine.grad or target.grad,
                flat=mine.flat and target.flat,
                fills=_united_targets(mine.fills, target.fills),
                complete=mine.complete and target.complete,
                mixed=mine.mixed or target.mixed,
                only_tensors=mine.only_tensors and target.only_tensors,
            )
        known[target.spot] = target
    return tuple(known.values())
