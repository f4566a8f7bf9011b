# prints: best 2 0.1 [0.3, 0.2, 0.1]
# prints: False 0.1
import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
losses, best = [], np.inf
for value in (0.3, 0.2, 0.1):
    loss = torch.tensor(value, device=device, dtype=torch.float64)
    losses.append(loss)
    if loss < best:
        best = loss
print(
    "best", int(np.argmin(losses)), round(best.item(), 2), [round(one.item(), 1) for one in losses]
)
print(bool(np.isnan(losses[-1])), np.round(np.percentile(losses, 0), 1))
