"""Arrays given to torch's own functions, alone and beside tensors of the GPU."""

# prints: (2, 3) 56.0
# prints: (3, 2) 8 (2, 4)
# prints: 3.5 4.0
# untouched: torch.from_numpy(x)
import numpy as np
import torch
import torch.nn.functional as F

w = torch.ones(3, 4, device="cuda")
x = np.arange(8, dtype=np.float32).reshape(2, 4)
y = F.linear(x, w)
print(tuple(y.shape), y.sum().item() - torch.relu(x).sum().item())
print(tuple(torch.matmul(w, x.T).shape), torch.from_numpy(x).numel(), end=" ")
print(tuple(F.softmax(x, dim=1).shape))
doubles = np.full((1, 4), 4.0)
print(torch.mean(x).item(), torch.cat([w, doubles])[-1, 0].item())
