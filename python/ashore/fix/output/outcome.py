"""What a run of check found, for the modules that write it."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ashore.fix.check import Fault
from ashore.fix.report import Report


class Outcome(NamedTuple):
    """Hold the reports that are wanted, and what could not be checked."""

    reports: tuple[Report, ...]
    faults: tuple[Fault, ...]
    files: int
    lines: int
    root: str


def statistics(outcome: Outcome) -> str:
    """Return a line for each rule and level, the most frequent first."""
    from ashore.fix.pages import title_of

    counts = Counter((report.rule, report.level) for report in outcome.reports)
    rows = [
        f"{count:6}  {rule} [{level.word}] {title_of(rule)}"
        for (rule, level), count in sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    ]
    told = f"{outcome.files} files, {outcome.lines} lines, {len(outcome.reports)} reports"
    return "\n".join([*rows, told])
