# prints: ['b' 'a' 'c'] [1 1 1] 3
# prints: [[0. 1.]
import numpy as np
import torch
from scipy.spatial.distance import cdist

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
names = np.array(["a", "b", "c"])
predicted = torch.tensor([1, 0, 2], device=device)
values, counts = np.unique(predicted, return_counts=True)
print(names[predicted], np.bincount(predicted), len(values))
points = torch.tensor([[0.0], [1.0]], device=device)
print(cdist(points, points))
grid = np.zeros((2, 3))
grid[:, 1] = points.squeeze()
order = sorted(range(3), key=lambda i: predicted[i])
assert order == [1, 0, 2] and grid.sum() == 1
