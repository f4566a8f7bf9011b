# prints: (2, 4, 6) True
import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)


def positions(length, width):
    angle = np.arange(length)[:, None] / 10 ** np.arange(width)[None]
    return torch.from_numpy(np.sin(angle)).float()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 6)
        self.attend = nn.MultiheadAttention(6, 2, batch_first=True)

    def forward(self, ids, padding):
        x = self.embed(ids) + positions(ids.shape[1], 6)
        out, _ = self.attend(x, x, x, key_padding_mask=padding)
        return out


block = Block().to(device)
ids = torch.tensor([[1, 2, 3, 0], [4, 5, 0, 0]])
out = block(ids, ids == 0)
chosen = torch.where(ids.unsqueeze(-1).to(device) > 0, out, torch.zeros(1))
loss = nn.functional.cross_entropy(chosen[:, 0], torch.tensor([0, 1]), weight=torch.ones(6))
loss.backward()
print(tuple(out.shape), bool(block.embed.weight.grad.abs().sum() > 0))
