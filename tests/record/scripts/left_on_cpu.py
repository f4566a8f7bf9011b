# prints: (2, 5, 4) 1.0
# prints: [2, 3] True
import math

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.GRU(4, 4, batch_first=True)
        self.table = torch.arange(40.0).reshape(10, 4) / 40

    def forward(self, x):
        h0 = torch.zeros(1, x.shape[0], 4)
        out, _ = self.inner(x + self.table[: x.shape[1]], h0)
        return out


net = Encoder().to(device)
x = torch.ones(2, 5, 4, device=device)
out = net(x)
mask = torch.ones(2, 5, 1)
mask[:, 3:] = 0
kept = out * mask
weights = torch.tensor([1.0, 2.0, 1.0, 1.0])
loss = nn.CrossEntropyLoss(weight=weights)(kept[:, 0], torch.tensor([1, 2]))
loss.backward()
print(tuple(kept.shape), math.copysign(1, loss.item()))
ids = torch.tensor([0, 3])
table = torch.arange(4)
print(
    table[torch.tensor([2, 3], device=device)].tolist(),
    bool(torch.isfinite(net.inner.weight_ih_l0.grad).all()),
)
