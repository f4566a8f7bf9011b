"""The demo's classifier."""

from __future__ import annotations

import torch
from torch import nn


class Classifier(nn.Module):
    """Map features (n, inputs) to logits (n, classes) through two hidden layers."""

    def __init__(self, inputs: int, classes: int, hidden: int = 64) -> None:
        """Make the layers with random weights."""
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(hidden, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(hidden, classes),
        )

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        logits: torch.Tensor = self.layers(features)
        return logits
