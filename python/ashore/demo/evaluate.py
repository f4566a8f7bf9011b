"""Run the trained model over the test set; its results come ashore batch by batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import DataLoader

import ashore


class Results(NamedTuple):
    """Hold what the test set gave: int64 (n,), int64 (n,) and float32 (n, classes)."""

    target: NDArray[np.int64]
    predicted: NDArray[np.int64]
    probability: NDArray[np.float32]


@torch.no_grad()
def evaluate(model: nn.Module, batches: DataLoader[Any], device: torch.device) -> Results:
    """Return targets, predictions and probabilities as NumPy arrays."""
    model.eval()
    parts = []
    for features, labels in batches:
        logits = model(features.to(device, non_blocking=True))
        probability = logits.softmax(dim=1)
        # Three tensors, two of them on the device, in one call.
        parts.append(ashore.tensors_to_numpy(labels, probability.argmax(dim=1), probability))
    return Results(*(np.concatenate(column) for column in zip(*parts, strict=True)))
