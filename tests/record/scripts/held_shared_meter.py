# prints: 0.75
import numpy as np
import torch
from held_meter import Meter

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
meter = Meter()
meter.update(np.array([1, 2]), np.array([1, 0]))
meter.update(torch.tensor([1, 0], device=device), torch.tensor([1, 0], device=device))
print(meter.result())
