# prints: moved True
import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 2), nn.Softmax(dim=1)).to(device)
x = torch.linspace(0, 1, 12, device=device).reshape(4, 3)


def entropy(p):
    return -(p * np.log(p)).sum(dim=1).mean()


before = net[0].weight.detach().clone()
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
for _ in range(3):
    optimizer.zero_grad()
    loss = entropy(net(x))
    loss.backward()
    optimizer.step()
print("moved", bool((net[0].weight - before).abs().max() > 1e-4))
