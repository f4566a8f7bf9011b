"""Reports as SARIF 2.1.0 (OASIS standard), for code scanning services and editors."""

from __future__ import annotations

import json
import os
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from ashore.fix.output.outcome import Outcome
from ashore.fix.pages import page, title_of
from ashore.fix.report import Report, TextEdit
from ashore.fix.sites import Level

_LEVELS = {Level.SURE: "error", Level.LIKELY: "warning", Level.MAYBE: "note"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(outcome: Outcome) -> str:
    """Return one log with one run."""
    rules = sorted({report.rule for report in outcome.reports})
    run = {
        "tool": {"driver": {"name": "ashore", "rules": [_rule(rule) for rule in rules]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            "ROOT": {"uri": PurePath(os.path.abspath(outcome.root)).as_uri() + "/"}
        },
        "results": [_result(report, rules, outcome.root) for report in outcome.reports],
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {
                        "level": "error",
                        "message": {"text": fault.reason},
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": _file(fault.path, outcome.root)
                                }
                            }
                        ],
                    }
                    for fault in outcome.faults
                ],
            }
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: str) -> dict[str, Any]:
    return {
        "id": rule,
        "shortDescription": {"text": title_of(rule)},
        "help": {"text": page(rule), "markdown": page(rule)},
    }


def _result(report: Report, rules: list[str], root: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": report.rule,
        "ruleIndex": rules.index(report.rule),
        "level": _LEVELS[report.level],
        "message": {"text": report.message},
        "locations": [_location(report, root)],
    }
    if report.origin and not report.cell:
        result["relatedLocations"] = [
            {
                "message": {"text": f"from {report.origin}"},
                "physicalLocation": {
                    "artifactLocation": _file(report.origin_path or report.path, root),
                    "region": {"startLine": max(1, report.origin_line)},
                },
            }
        ]
    if report.fixable and not report.cell:  # positions in a cell mean nothing to others
        change = {
            "artifactLocation": _file(report.path, root),
            "replacements": [_replacement(edit) for edit in report.edits],
        }
        result["fixes"] = [
            {"description": {"text": title_of(report.rule)}, "artifactChanges": [change]}
        ]
    return result


def _location(report: Report, root: str) -> dict[str, Any]:
    region = {"startLine": report.file_line}
    if not report.cell:
        region |= {
            "startColumn": report.column,
            "endLine": report.end_line,
            "endColumn": report.end_column,
        }
    return {"physicalLocation": {"artifactLocation": _file(report.path, root), "region": region}}


def _replacement(edit: TextEdit) -> dict[str, Any]:
    return {
        "deletedRegion": {
            "startLine": edit.line,
            "startColumn": edit.column,
            "endLine": edit.end_line,
            "endColumn": edit.end_column,
        },
        "insertedContent": {"text": edit.text},
    }


def _file(path: str, root: str) -> dict[str, str]:
    relative = os.path.relpath(path, root)
    if relative.startswith(".."):
        return {"uri": PurePath(os.path.abspath(path)).as_uri()}
    return {"uri": quote(relative.replace(os.sep, "/")), "uriBaseId": "ROOT"}
