"""Draw a report: confusion matrix left, confidence right. Called by `ashore.evaluation` only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from ashore._atomic import atomic_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ashore.evaluation import Report

_INK, _FAINT = "#1f2d3d", "#8c9bab"
_RIGHT, _WRONG = "#2a7f9e", "#e2703a"
_LOOK: Any = {
    "font.size": 11,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}
_MOST_COUNTS = 20  # beyond that many classes the numbers in the cells would not be readable


def draw(report: Report, correct: NDArray[np.bool_], path: Path) -> None:
    """Write the picture of a report; the suffix of `path` names the format (none: PNG)."""
    kind = path.suffix[1:].lower() or "png"
    # Our own look whatever the user's settings are, which stay as they are; no pyplot, so no
    # window system is touched and the user's own figures and backend are left alone.
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_LOOK)
        classes = len(report.confusion)
        height = 5.6
        if classes <= _MOST_COUNTS:
            height += 0.35 * max(0, classes - 10)
        layout = ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.1, wspace=0.06)
        figure = Figure(figsize=(height + 6.9, height), dpi=150, layout=layout)
        known = figure.canvas.get_supported_filetypes()
        if kind not in known:
            raise ValueError(f"no picture format is called .{kind}: {', '.join(sorted(known))}")
        figure.suptitle(
            f"Accuracy {report.accuracy:.3f}   |   macro F1 {report.macro_f1:.3f}   |   "
            f"{_count(len(correct), 'sample')}",
            fontsize=14,
            fontweight="bold",
        )
        left, right = figure.subplots(1, 2, width_ratios=[height, 6.4])
        _confusion(figure, left, report.confusion)
        _confidence(right, report.confidence, correct, classes)
        with atomic_file(path) as file:
            figure.savefig(file, format=kind)


def _confusion(figure: Figure, axes: Axes, counts: NDArray[np.int64]) -> None:
    classes = len(counts)
    # A row's share, so that a rare class is as readable as a common one; absent classes stay white.
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    image = axes.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="equal")
    bar = figure.colorbar(image, ax=axes, aspect=30, pad=0.03)
    bar.set_label("share of the true class")
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    axes.set_title("Confusion matrix", pad=12)
    axes.set_xlabel("predicted class")
    axes.set_ylabel("true class")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
    if classes <= _MOST_COUNTS:
        axes.set_xticks(range(classes))
        axes.set_yticks(range(classes))
        # White lines between the cells.
        axes.set_xticks(np.arange(-0.5, classes), minor=True)
        axes.set_yticks(np.arange(-0.5, classes), minor=True)
        axes.grid(which="minor", color="white", linewidth=1.5)
        # In points: a cell of the matrix in its share of the figure. A digit is 0.64 em wide.
        cell = figure.get_figheight() * 72 * 0.72 / classes
        size = min(12.0, 0.6 * cell, 0.85 * cell / (0.64 * len(str(counts.max()))))
        for (row, column), count in np.ndenumerate(counts):
            colour = "white" if share[row, column] > 0.55 else _INK if count else _FAINT
            axes.text(column, row, str(count), ha="center", va="center", size=size, color=colour)
    axes.tick_params(which="both", length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def _confidence(
    axes: Axes, confidence: NDArray[np.float64], correct: NDArray[np.bool_], classes: int
) -> None:
    edges = np.linspace(1 / classes, 1, 21)
    inside = np.clip(confidence, edges[0], edges[-1])  # rounding may leave the range by an ulp
    wrong = inside[~correct]
    right = inside[correct]
    tallest = np.histogram(inside, edges)[0].max()
    axes.hist(
        [wrong, right],
        bins=edges.tolist(),
        stacked=True,
        color=[_WRONG, _RIGHT],
        edgecolor="white",
        linewidth=0.8,
        label=[f"wrong ({len(wrong):,})", f"correct ({len(right):,})"],
    )
    axes.set_title("Prediction confidence", pad=12)
    axes.set_xlabel("largest probability of a sample")
    axes.set_ylabel("samples")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, 1.12 * tallest)  # the legend lies above the highest bar
    axes.yaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10], integer=True))
    axes.grid(axis="y", color="#d8dee6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(
        loc="upper left", ncols=2, reverse=True, framealpha=1, edgecolor="none", borderaxespad=0
    )
    for name in ("top", "right", "left"):
        axes.spines[name].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
