"""Outcomes as a table for people and as JSON for programs. Called by run.py."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from measure import Comparison, Outcome, Times

COLUMNS = ("row, and its rivals", "time", "ratio", "(least)", "target", "")
NUMBERS = {1, 2, 3}  # columns that end alike


def environment() -> dict[str, str]:
    """Name what the figures depend on."""
    found = {"python": platform.python_version(), "machine": _processor()}
    for package in ("numpy", "torch", "optree"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    return found


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            models = [
                line.split(":", 1)[1].strip() for line in file if line.startswith("model name")
            ]
        return f"{models[0]}, {len(models)} logical cores"
    except (OSError, IndexError):
        return platform.machine()


def duration(seconds: float) -> str:
    """Return a time with a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def verdict(outcome: Outcome, comparison: Comparison) -> str:
    """Say in a word whether a target is reached."""
    if comparison.reached is None:
        return ""
    word = "ok" if comparison.reached else "miss"
    return f"{word} (later issue)" if outcome.row.later else word


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a line for each row and each of its rivals, the topics apart."""
    lines: list[tuple[str, ...]] = [COLUMNS]
    topic = ""
    for outcome in outcomes:
        if outcome.topic != topic:
            topic = outcome.topic
            lines += [(), (topic,)]
        lines.append((f"{outcome.row.name}: {outcome.row.ours}", duration(outcome.ours.least_s)))
        lines += [_line(outcome, comparison) for comparison in outcome.comparisons]
    widths = [max(len(line[c]) for line in lines if len(line) > c) for c in range(len(COLUMNS))]
    return "\n".join(_align(line, widths) for line in lines)


def _line(outcome: Outcome, comparison: Comparison) -> tuple[str, ...]:
    return (
        f"    {comparison.rival}",
        duration(comparison.times.least_s),
        f"{comparison.ratio:.2f}",
        f"{comparison.least_ratio:.2f}",
        comparison.target.text if comparison.target else "–",
        verdict(outcome, comparison),
    )


def _align(line: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.rjust(width) if column in NUMBERS else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=False))
    ]
    return "  ".join(cells).rstrip()


def as_json(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Return the outcomes as plain values; times in nanoseconds of one call."""
    return {
        "environment": environment(),
        "rows": [
            {
                "name": outcome.row.name,
                "topic": outcome.topic,
                "later": outcome.row.later,
                "ours": {"what": outcome.row.ours, **_times(outcome.ours)},
                "rivals": [_comparison(comparison) for comparison in outcome.comparisons],
            }
            for outcome in outcomes
        ],
    }


def _times(times: Times) -> dict[str, float]:
    return {"least_ns": times.least_s * 1e9, "median_ns": times.median_s * 1e9}


def _comparison(comparison: Comparison) -> dict[str, object]:
    return {
        "what": comparison.rival,
        **_times(comparison.times),
        "ratio": comparison.ratio,
        "least_ratio": comparison.least_ratio,
        "target": comparison.target.text if comparison.target else None,
        "target_ratio": comparison.target_ratio,
        "reached": comparison.reached,
    }
