"""Reports as workflow commands, which GitHub Actions shows beside the lines of a pull request."""

from __future__ import annotations

from ashore.fix.output.outcome import Outcome
from ashore.fix.report import Report
from ashore.fix.sites import Level

_COMMANDS = {Level.SURE: "error", Level.LIKELY: "warning", Level.MAYBE: "notice"}


def render(outcome: Outcome) -> str:
    """Return a line for each report."""
    lines = [_line(report) for report in outcome.reports]
    for fault in outcome.faults:
        lines.append(f"::error file={_property(fault.path)}::{_data(fault.reason)}")
    return "\n".join(lines)


def _line(report: Report) -> str:
    properties = {"file": report.path, "line": str(report.file_line)}
    if not report.cell:
        properties |= {"col": str(report.column), "endLine": str(report.end_line)}
        if report.end_line == report.line:
            properties["endColumn"] = str(report.end_column - 1)
    properties["title"] = report.rule
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    origin = f" (from {report.origin}, line {report.origin_line})" if report.origin else ""
    return f"::{_COMMANDS[report.level]} {told}::{_data(report.message + origin)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
