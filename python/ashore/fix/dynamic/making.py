"""Make sites of notes: the same sites that the static rules make, for the same planner."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ashore.fix.dynamic.lists import list_changes
from ashore.fix.dynamic.notes import Note, Spot, Target
from ashore.fix.dynamic.project import Files
from ashore.fix.dynamic.rules import message_of, rule_of
from ashore.fix.dynamic.torch_texts import gradient_changes, torch_changes
from ashore.fix.dynamic.writing import write_changes
from ashore.fix.edits import Refused, Span
from ashore.fix.sites import Change, Convert, Level, Site
from ashore.fix.source import Source

CUTS = "it is inside {}(), where a gradient would be cut"
SHARED = "it also gets arrays, and no call of it could be named that gets tensors only"
UNSEEN = "the expression was not found"


@dataclass(frozen=True)
class Made:
    """Hold a site and the file that it is in."""

    source: Source
    site: Site


class Maker:
    """Make sites; `careful` keeps to the place itself where there is a choice."""

    def __init__(self, files: Files, careful: bool) -> None:
        """Read the files that notes name, once each."""
        self._files = files
        self._careful = careful
        self._sources: dict[str, Source] = {}
        self.refused: list[str] = []

    def make(self, notes: Sequence[Note]) -> list[Made]:
        """Return the sites of all notes whose files are still what ran."""
        made: list[Made] = []
        for note in notes:
            try:
                made += self._of_note(note, notes)
            except Refused as error:
                if str(error) not in self.refused:
                    self.refused.append(str(error))
        return made

    def source(self, spot: Spot) -> Source:
        """Return the file of a spot."""
        if spot.path not in self._sources:
            self._sources[spot.path] = self._files.source(spot.path, spot.digest)
        return self._sources[spot.path]

    def node(self, spot: Spot) -> ast.expr | None:
        """Return the expression at a spot, if its positions can be trusted."""
        source = self.source(spot)
        span = span_of(source, spot)
        node = source.expression(span)
        if node is None:
            return None
        try:  # before Python 3.12 the positions inside f-strings may be wrong
            again = ast.parse(f"({source.text(node)}\n)", mode="eval").body
        except (SyntaxError, ValueError):
            return None
        return node if ast.dump(again) == ast.dump(node) else None

    def _of_note(self, note: Note, notes: Sequence[Note]) -> Iterator[Made]:
        if note.how == "gradient":
            yield self._whole(note, gradient_changes(self, note))
            return
        if note.extra.get("written"):
            yield self._whole(note, write_changes(self, note))
            return
        texts = torch_changes(self, note)
        if texts is not None:
            for found in texts:
                yield self._whole(note, found)
            return
        targets: list[Target] = []
        shared = False
        for target in note.targets:
            if not target.mixed:
                targets.append(target)
                continue
            outside = next((one for one in note.outer if not one.mixed), None)
            shared |= outside is None
            targets += [outside] if outside is not None else []
        if shared or not targets:
            yield self._blocked(note, SHARED if shared else UNSEEN)
            return
        for target in targets:
            yield from self._of_target(note, target, notes)

    def _of_target(self, note: Note, target: Target, notes: Sequence[Note]) -> Iterator[Made]:
        node = self.node(target.spot)
        if node is None:
            yield self._blocked(note, UNSEEN)
            return
        source = self.source(target.spot)
        site = Site(
            rule_of(note, target),
            Level.SURE,
            source.span(node),
            message_of(note, _quoted(source, node)),
            lines=(note.spot.at[0], note.spot.at[2]),
        )
        if note.inside and "detach" in target.needs:
            yield Made(source, site._replace(blocked=CUTS.format(note.inside)))
            return
        if target.container and not isinstance(node, ast.List | ast.Tuple | ast.ListComp):
            by_file, blocked = list_changes(self, note, target, node, notes, self._careful)
            if blocked:
                yield Made(source, site._replace(blocked=blocked))
            for other, changes in by_file:
                yield Made(other, _at(site, changes))
            return
        change = Convert(source.span(node), operations_of(target), target.receiver)
        yield Made(source, site._replace(changes=(change,)))

    def _whole(self, note: Note, found: tuple[Spot, tuple[Change, ...], str]) -> Made:
        spot, changes, blocked = found
        if blocked:
            return self._blocked(note, blocked)
        source = self.source(spot)
        node = self.node(spot)
        what = _quoted(source, node) if node is not None else note.callee
        rule = rule_of(note, note.targets[0] if note.targets else None)
        span = span_of(source, spot)
        return Made(source, Site(rule, Level.SURE, span, message_of(note, what), changes=changes))

    def _blocked(self, note: Note, why: str) -> Made:
        source = self.source(note.spot)
        span = span_of(source, note.spot)
        node = source.expression(span)
        if span.end <= span.start:
            span = Span(span.start, span.start + 1)
        what = _quoted(source, node) if node is not None else note.callee
        rule = rule_of(note, note.targets[0] if note.targets else None)
        return Made(source, Site(rule, Level.SURE, span, message_of(note, what), blocked=why))


def operations_of(target: Target) -> frozenset[str]:
    """Return what has to be appended to an expression that is a tensor itself."""
    return target.needs


def span_of(source: Source, spot: Spot) -> Span:
    """Return a spot as offsets."""
    first, column, last, end = spot.at
    try:
        start = source.offset(first, column)
        return Span(start, source.offset(last, end) if last else start)
    except IndexError as error:
        raise Refused(f"{spot.path} has no line {max(first, last)}") from error


def _quoted(source: Source, node: ast.expr) -> str:
    text = " ".join(source.text(node).split())
    return text if len(text) <= 60 else text[:59] + "…"


def _at(site: Site, changes: tuple[Change, ...]) -> Site:
    """Return the site with its changes; it is told where the first of them is."""
    return site._replace(span=changes[0].span, changes=changes)
