# prints: [0.5 1. ] (2,) [2. 4.]
# prints: [False  True]
import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
counts = np.array([2.0, 4.0])
total = torch.tensor(4.0, device=device)
shares = counts / total
scale = torch.ones(2, device=device)
print(np.asarray(shares), (counts + scale).shape, np.asarray(counts * scale))
print(np.asarray(counts > total - 1))
