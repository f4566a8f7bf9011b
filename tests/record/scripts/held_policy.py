# prints: (6, 3) (6,) True
import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
rng = np.random.default_rng(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, obs):
        return self.head(torch.tanh(self.body(obs)))


def step(action):
    return rng.normal(size=3), float(np.sum(action) > 0)


policy = Policy().to(device)
observations = np.zeros((6, 3))
values = np.zeros(6, dtype=np.float32)
obs = rng.normal(size=3)
for t in range(6):
    logits = policy(obs)
    action = torch.distributions.Categorical(logits=logits).sample()
    observations[t] = obs
    values[t : t + 1] = logits.max()
    obs, reward = step(action.numpy())
print(observations.shape, values.shape, bool(np.isfinite(values).all()))
