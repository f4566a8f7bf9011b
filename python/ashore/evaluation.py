"""Score a classifier with scikit-learn and draw the result; for `ashore demo` and scripts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ashore
from ashore._extras import MATPLOTLIB, SCIKIT_LEARN, require

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

_SUM_TOLERANCE = 0.05  # a thousand bfloat16 probabilities of one sample sum to 1 within this


@dataclass(frozen=True, eq=False)
class Report:
    """Hold the scores of n samples over k classes; str() is the classification report.

    `confusion[i, j]` counts samples of class i that were predicted as class j (int64, k by k);
    `confidence` is each sample's largest probability (float64, n). `path` is the picture, if any.
    """

    accuracy: float
    macro_f1: float
    confusion: NDArray[np.int64]
    predicted: NDArray[np.int64]
    confidence: NDArray[np.float64]
    text: str
    path: Path | None

    def __str__(self) -> str:
        """Return scikit-learn's classification report."""
        return self.text


def report(target: Any, probability: Any, path: str | os.PathLike[str] | None = None) -> Report:
    """Compare class probabilities with the true classes and, with a path, draw the result there.

    Args:
        target: n class numbers in [0, k): a tensor on any device, an array, or a list of numbers.
        probability: n by k, rows that sum to 1, such as `softmax(logits, dim=1)` gives.
        path: a picture with the confusion matrix and a histogram of confidence, in a format of
            matplotlib that the suffix names; None draws nothing.

    Raises:
        ValueError: a shape, a class number or a probability does not fit; the message says which.
        TypeError: the values are no numbers of the kind that is needed.
        ImportError: scikit-learn or, for a picture, matplotlib is not installed.
        OSError: the picture cannot be written.
    """
    needed = (SCIKIT_LEARN,) if path is None else (SCIKIT_LEARN, MATPLOTLIB)
    require("ashore.evaluation.report", needed)
    chance = _probabilities(probability)
    truth = _classes(target, *chance.shape)

    from pathlib import Path

    from sklearn.metrics import (
        classification_report,
        confusion_matrix,
        f1_score,
    )

    predicted = chance.argmax(axis=1)
    # The table lists the classes that occur, the matrix all of them.
    matrix = confusion_matrix(truth, predicted, labels=range(chance.shape[1]))
    result = Report(
        accuracy=float((truth == predicted).mean()),
        macro_f1=float(f1_score(truth, predicted, average="macro", zero_division=0)),
        confusion=matrix,
        predicted=predicted,
        confidence=chance.max(axis=1),
        text=classification_report(truth, predicted, digits=3, zero_division=0),
        path=None if path is None else Path(path),
    )
    if result.path is not None:
        from ashore._evaluation_plot import draw

        draw(result, truth == predicted, result.path)
    return result


def _probabilities(probability: Any) -> NDArray[np.float64]:
    import numpy as np

    values = _one_array("probability", probability)
    if values.ndim != 2 or values.shape[0] < 1 or values.shape[1] < 2:
        raise ValueError(
            "probability must have the shape (samples, classes) with at least 1 sample and 2 "
            f"classes, got {values.shape}"
        )
    wide: NDArray[np.float64] = ashore.to_numpy(values, dtype="float64")
    row = _first(~np.isfinite(wide).all(axis=1))
    if row is not None:
        raise ValueError(f"probability must be finite: row {row} is not")
    row = _first(((wide < 0) | (wide > 1 + _SUM_TOLERANCE)).any(axis=1))
    if row is not None:
        raise ValueError(
            f"probability must lie in [0, 1]: row {row} does not (of logits take the softmax)"
        )
    sums = wide.sum(axis=1)
    row = _first(np.abs(sums - 1) > _SUM_TOLERANCE)
    if row is not None:
        raise ValueError(f"rows of probability must sum to 1: row {row} sums to {sums[row]:.4g}")
    return wide


def _classes(target: Any, samples: int, classes: int) -> NDArray[np.int64]:
    import numpy as np

    values = _one_array("target", target)
    if values.shape != (samples,):
        raise ValueError(
            f"target must have the shape ({samples},), one class number for each row of "
            f"probability, got {values.shape}"
        )
    if values.dtype.kind not in "iub":
        raise TypeError(f"target must hold class numbers (integers), got {values.dtype}")
    row = _first((values < 0) | (values >= classes))
    if row is not None:
        raise ValueError(
            f"target must lie in [0, {classes}), the columns of probability: target[{row}] is "
            f"{values[row]}"
        )
    return ashore.to_numpy(values, dtype=np.int64)  # type: ignore[no-any-return]


def _one_array(name: str, x: Any) -> NDArray[Any]:
    import numpy as np

    values = ashore.to_numpy(x)
    if not isinstance(values, np.ndarray):
        raise TypeError(
            f"{name} must be one array or tensor, got {type(x).__name__}: concatenate the batches"
        )
    return values


def _first(bad: Any) -> int | None:
    """Return the index of the first true entry of a boolean array."""
    return int(bad.argmax()) if bad.any() else None
