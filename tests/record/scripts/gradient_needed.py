# prints: True True
import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
net = nn.Linear(4, 3).to(device)
x = torch.linspace(-1, 1, 8, device=device).reshape(2, 4)
target = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], dtype="float32")


def penalty(w):
    return np.sum(np.abs(w))


out = net(x)
loss = (target - out).pow(2).mean() + 0.1 * penalty(net.weight)
loss.backward()
with torch.no_grad():
    error = 2 * (out - torch.as_tensor(target, device=device)) / 6
    expected = error.T @ x + 0.1 * net.weight.sign()
print(bool(torch.allclose(net.weight.grad, expected, atol=1e-5)), loss.item() > 0)
