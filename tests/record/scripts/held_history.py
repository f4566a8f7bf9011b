# prints: {"loss": [0.5, 0.25], "best": {"epoch": 1, "values": [1.0, 2.0]}}
# prints: last 0.25 mean 0.375
import json

import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
history = {"loss": [], "best": {}}
for epoch in range(2):
    loss = torch.tensor(0.5, device=device) / (epoch + 1)
    history["loss"].append(loss)
history["best"]["epoch"] = 1
history["best"]["values"] = torch.tensor([1.0, 2.0], device=device)
print(json.dumps(history))
print("last", history["loss"][-1].item(), "mean", np.mean(history["loss"]))
