# prints: (8, 2) 2 True
import numpy as np
import torch
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
net = nn.Linear(4, 3).to(device)
x = (
    torch.cat([torch.zeros(4, 4), torch.ones(4, 4)]).to(device)
    + torch.linspace(0, 0.1, 8, device=device)[:, None]
)
with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16):
    features = net(x)
low = PCA(2).fit_transform(features)
found = KMeans(2, n_init=1, random_state=0).fit(features).labels_
print(low.shape, len(set(found)), bool(np.isfinite(np.stack([f * 1 for f in features])).all()))
