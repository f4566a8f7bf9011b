# prints: 6.0 3
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
steps = [torch.tensor(float(n), device=device) for n in (1, 2, 3)]
collected = torch.tensor(steps)
weights = torch.ones(3, device=device)
print((collected * weights).sum().item(), len(steps))
