"""Bring the results of an evaluation loop ashore, batch by batch, and score them with scikit-learn.

On a CUDA device where PyTorch finds one, else on the CPU: the loop is the same.
"""

import ashore
import numpy as np
import torch
from ashore.evaluation import report
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# Three clouds of points, and a model that knows their centres.
centres = torch.tensor([[0.0, 3.0], [3.0, 0.0], [-3.0, -3.0]])
labels = torch.randint(0, 3, (600,))
points = centres[labels] + torch.randn(600, 2)
model = torch.nn.Linear(2, 3).to(device)
with torch.no_grad():
    model.weight.copy_(centres)
    model.bias.copy_(-(centres**2).sum(dim=1) / 2)

targets, probabilities = [], []
for batch, label in DataLoader(TensorDataset(points, labels), batch_size=100):
    probability = model(batch.to(device)).softmax(dim=1)
    # `probability` requires grad and may be on a device; neither is in the way.
    target, scores = ashore.tensors_to_numpy(label, probability)
    targets.append(target)
    probabilities.append(scores)

result = report(np.concatenate(targets), np.concatenate(probabilities))
print(result)
print(f"accuracy above 0.9: {result.accuracy > 0.9}")
