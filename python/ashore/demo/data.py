"""Make the demo's data: synthetic, learnable, the same for the same seed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CLASSES = 5
FEATURES = 20
_TRAIN, _TEST = 4000, 1000
_CLUSTERS = 2  # of each class, so that no straight line separates it
_WRONG_LABELS = 0.05


class Split(NamedTuple):
    """Hold samples: float32 features (n, FEATURES) and int64 labels (n,)."""

    features: NDArray[np.float32]
    labels: NDArray[np.int64]


def make(seed: int) -> tuple[Split, Split]:
    """Return a training and a test set drawn from the same clusters.

    Classes overlap a little and some labels are wrong, so that no honest model is always right.
    """
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((CLASSES, _CLUSTERS, FEATURES)) * 1.1
    samples = _TRAIN + _TEST
    labels = rng.integers(0, CLASSES, samples)
    clusters = rng.integers(0, _CLUSTERS, samples)
    features = centres[labels, clusters] + rng.standard_normal((samples, FEATURES)) * 1.3
    wrong = rng.random(samples) < _WRONG_LABELS
    labels[wrong] = rng.integers(0, CLASSES, int(wrong.sum()))
    features32 = features.astype(np.float32)
    return (
        Split(features32[:_TRAIN], labels[:_TRAIN]),
        Split(features32[_TRAIN:], labels[_TRAIN:]),
    )
