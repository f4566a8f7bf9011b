"""Reports for people: the place, the message, the line with a caret, the origin, the repair."""

from __future__ import annotations

from ashore.cli.text import escape, paint
from ashore.fix.output.outcome import Outcome
from ashore.fix.report import Report
from ashore.fix.sites import Level

_WIDTH = 96
_COLOURS = {Level.SURE: "red", Level.LIKELY: "yellow", Level.MAYBE: "cyan"}


def render(outcome: Outcome) -> str:
    """Return the reports and a closing line; nothing at all where there is nothing to tell."""
    blocks = [_block(report) for report in outcome.reports]
    if blocks:
        blocks.append(_summary(outcome))
    return "\n".join(blocks)


def place(report: Report) -> str:
    """Return path, line and column as people and editors read them."""
    cell = f"cell {report.cell}:" if report.cell else ""
    return f"{escape(report.path)}:{cell}{report.line}:{report.column}"


def _block(report: Report) -> str:
    level = paint(f"[{report.level.word}]", _COLOURS[report.level])
    head = f"{paint(place(report), 'bold')}: {report.rule} {level} {escape(report.message)}"
    lines = [head, *_excerpt(report)]
    margin = " " * len(str(report.line))
    if report.origin:
        where = f"{report.origin_path}:" if report.origin_path else "line "
        lines.append(
            f"  {margin}   from {escape(report.origin)}, {escape(where)}{report.origin_line}"
        )
    if report.blocked:
        lines.append(f"  {margin}   not changed: {escape(report.blocked)}")
    elif report.unsafe:
        lines.append(f"  {margin}   changed only with --unsafe: the results may change")
    return "\n".join(lines)


def _excerpt(report: Report) -> list[str]:
    """Return the line with a mark under the expression, cut to fit."""
    text = report.source_line
    start = report.column - 1
    end = report.end_column - 1 if report.end_line == report.line else len(text.rstrip())
    before, marked, after = (
        _shown(text[:start]),
        _shown(text[start:end]),
        _shown(text[end:]),
    )
    indent = len(before) - len(before.lstrip())
    before = before[indent:]
    if len(before) > _WIDTH // 2:
        before = "…" + before[-(_WIDTH // 2) :]
    marked = marked[:_WIDTH]
    after = after[: max(0, _WIDTH - len(before) - len(marked))]
    number = str(report.line)
    gap = " " * len(number)
    return [
        f"  {number} | {before}{marked}{after}".rstrip(),
        f"  {gap} | {' ' * len(before)}{paint('^' * max(1, len(marked)), 'red')}",
    ]


def _shown(text: str) -> str:
    return escape(text.replace("\t", "    "))


def _summary(outcome: Outcome) -> str:
    count = len(outcome.reports)
    files = len({report.path for report in outcome.reports})
    fixable = sum(report.fixable and not report.unsafe for report in outcome.reports)
    told = f"{_number(count, 'report')} in {_number(files, 'file')}"
    return f"{told}; `ashore fix` repairs {fixable or 'none'} of them"


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
