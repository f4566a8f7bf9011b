# prints: learned True
import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.scale = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return self.inner(x) * np.exp(self.scale)


net = Scaled().to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
x = torch.eye(2, device=device)
losses = []
for _ in range(5):
    optimizer.zero_grad()
    loss = np.sqrt(((net(x) - 1) ** 2).mean())
    loss.backward()
    optimizer.step()
    losses.append(loss)
print("learned", net.scale.item() != 0 and float(np.min(losses)) <= float(losses[0]))
