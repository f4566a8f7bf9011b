"""Reports as GitLab's Code Quality artifact."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter

from ashore.fix.output.outcome import Outcome
from ashore.fix.sites import Level

_SEVERITIES = {Level.SURE: "major", Level.LIKELY: "minor", Level.MAYBE: "info"}


def render(outcome: Outcome) -> str:
    """Return a list of issues; a fingerprint holds while lines above a report change."""
    seen: Counter[tuple[str, ...]] = Counter()
    issues = []
    for report in outcome.reports:
        path = os.path.relpath(report.path, outcome.root)
        same = (path, report.rule, report.source_line.strip(), report.message)
        seen[same] += 1
        mark = "\0".join([*same, str(seen[same])])
        issues.append(
            {
                "description": report.message,
                "check_name": report.rule,
                "fingerprint": hashlib.sha256(mark.encode(errors="replace")).hexdigest(),
                "severity": _SEVERITIES[report.level],
                "location": {"path": path, "lines": {"begin": report.file_line}},
            }
        )
    return json.dumps(issues, indent=2)
