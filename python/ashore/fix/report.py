"""What is told of a site: plain values that can be printed, cached and sent between processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ashore.fix.sites import Level

if TYPE_CHECKING:
    from ashore.fix.sites import Site
    from ashore.fix.source import Source
    from ashore.fix.suppress import Suppression

UNUSED = "TN001"  # a comment that silences nothing


class TextEdit(NamedTuple):
    """Hold one edit as editors take it: replace from here to there by a text."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Report(NamedTuple):
    """Hold one report."""

    path: str
    rule: str
    level: Level
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    source_line: str
    origin: str = ""  # in words
    origin_line: int = 0
    origin_path: str = ""
    edits: tuple[TextEdit, ...] = ()
    unsafe: bool = False
    blocked: str = ""
    cell: int = 0
    file_line: int = 0  # in a notebook: the line of the JSON

    @property
    def fixable(self) -> bool:
        """Tell whether `ashore fix` repairs it, perhaps only with --unsafe."""
        return bool(self.edits) and not self.blocked


def report_of(source: Source, site: Site) -> Report:
    """Return the report of a site."""
    start, end = source.place(site.span.start), source.place(site.span.end)
    origin = site.origin
    return Report(
        source.path,
        site.rule,
        site.level,
        start.line,
        start.column,
        end.line,
        end.column,
        site.message,
        source.line_text(source.line_of(site.span.start)),
        origin.text if origin is not None else "",
        source.shown_line(origin.line) if origin is not None and not origin.path else 0,
        origin.path if origin is not None else "",
        tuple(_text_edits(source, site)),
        site.unsafe,
        site.blocked,
        start.cell,
        source.file_line(site.span.start),
    )


def _text_edits(source: Source, site: Site) -> Sequence[TextEdit]:
    if site.blocked or not site.changes:
        return ()
    from ashore.fix.edits import in_order
    from ashore.fix.planner import plan  # not needed where reports come from the cache

    found = []
    for edit in in_order(plan(source, [site], Level.MAYBE, unsafe=True).edits):
        start = source.place(edit.offset)
        end = source.place(edit.offset + edit.length)
        found.append(TextEdit(start.line, start.column, end.line, end.column, edit.text))
    return found


def unused_report(source: Source, comment: Suppression) -> Report:
    """Return the report of a comment that silences nothing."""
    offset = source.lines[comment.line - 1]
    place = source.place(offset)
    text = source.line_text(comment.line)
    names = ", ".join(sorted(comment.rules)) if comment.rules else "anything"
    return Report(
        source.path,
        UNUSED,
        Level.LIKELY,
        place.line,
        comment.column,
        place.line,
        len(text) + 1,
        f"this comment silences nothing: no report of {names} is here",
        text,
        cell=place.cell,
        file_line=source.file_line(offset),
    )


def to_values(report: Report) -> list[Any]:
    """Return a report as values for the cache."""
    values = [getattr(report, name) for name in Report._fields]
    values[2] = int(report.level)
    values[_EDITS] = [
        [edit.line, edit.column, edit.end_line, edit.end_column, edit.text] for edit in report.edits
    ]
    return values


def from_values(values: list[Any]) -> Report:
    """Return the report that `to_values` was given."""
    values = list(values)
    values[2] = Level(values[2])
    values[_EDITS] = tuple(TextEdit(*edit) for edit in values[_EDITS])
    return Report(*values)


_EDITS = list(Report._fields).index("edits")
