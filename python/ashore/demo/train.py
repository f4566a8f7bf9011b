"""Train the demo's classifier."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

from ashore.cli.errors import JobFailed
from ashore.demo.talk import Progress


def train(
    model: nn.Module,
    batches: DataLoader[Any],
    device: torch.device,
    epochs: int,
    progress: Progress,
) -> list[float]:
    """Fit the model in place and return the mean loss of each epoch."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    criterion = nn.CrossEntropyLoss()
    model.train()
    losses = []
    for epoch in range(1, epochs + 1):
        # Summed on the device: asking for each batch's loss would make the host wait for each.
        total = torch.zeros((), device=device)
        samples = 0
        for features, labels in batches:
            features = features.to(device, non_blocking=True)
            labels = labels.to(device, non_blocking=True)
            optimizer.zero_grad()
            loss = criterion(model(features), labels)
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(labels)
            samples += len(labels)
            progress.batch()
        losses.append(total.item() / samples)
        progress.epoch(epoch, losses[-1])
        if not math.isfinite(losses[-1]):
            raise JobFailed(f"training diverged: the loss of epoch {epoch} is {losses[-1]}")
    return losses
