"""Reports for programs."""

from __future__ import annotations

import json
from typing import Any

from ashore.fix.output.outcome import Outcome
from ashore.fix.report import Report


def render(outcome: Outcome) -> str:
    """Return one object with the reports, the faults and the counts."""
    return json.dumps(
        {
            "reports": [_report(report) for report in outcome.reports],
            "faults": [{"path": f.path, "reason": f.reason} for f in outcome.faults],
            "files": outcome.files,
            "lines": outcome.lines,
        },
        indent=2,
    )


def _report(report: Report) -> dict[str, Any]:
    told: dict[str, Any] = {
        "path": report.path,
        "rule": report.rule,
        "level": report.level.word,
        "line": report.line,
        "column": report.column,
        "end_line": report.end_line,
        "end_column": report.end_column,
        "message": report.message,
    }
    if report.cell:
        told["cell"] = report.cell
    if report.origin:
        told["origin"] = {
            "text": report.origin,
            "line": report.origin_line,
            "path": report.origin_path or report.path,
        }
    if report.blocked:
        told["not_changed"] = report.blocked
    if report.edits:
        told["unsafe"] = report.unsafe
        told["edits"] = [edit._asdict() for edit in report.edits]
    return told
