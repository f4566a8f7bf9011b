"""Outcomes as a picture: a bar for each ratio, with a mark at its target. Called by run.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from measure import Comparison, Outcome

REACHED, MISSED, LATER = "#2a7f9e", "#c8553d", "#b8b8b8"
ROW_INCHES = 0.3


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw every comparison that has a target; the suffix of `path` is the format."""
    pairs = [(o, c) for o in outcomes for c in o.comparisons if c.target_ratio is not None]
    figure = Figure(figsize=(10, 1.4 + ROW_INCHES * len(pairs)), layout="constrained")
    axes = figure.subplots()
    places = list(range(len(pairs)))
    ratios = [comparison.ratio for _, comparison in pairs]
    axes.barh(places, ratios, color=[_color(o, c) for o, c in pairs], height=0.7)
    axes.plot(
        [comparison.target_ratio or 0 for _, comparison in pairs],
        places,
        "k|",
        markersize=14,
        markeredgewidth=2,
        label="target",
    )
    axes.axvline(1, color="black", linewidth=0.8, linestyle=":", label="the rival")
    axes.set_yticks(places, [f"{o.row.name}  vs  {c.rival}" for o, c in pairs], fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("time of ashore ÷ time of the rival (log scale; left of the mark is good)")
    axes.set_title("ashore against its rivals, measured in one run", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(path, dpi=150)


def _color(outcome: Outcome, comparison: Comparison) -> str:
    if outcome.row.later:
        return LATER
    return REACHED if comparison.reached else MISSED
