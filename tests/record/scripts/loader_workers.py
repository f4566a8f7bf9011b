# prints: (4, 3) 24.0
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self):
        self.scale = torch.full((3,), 2.0, requires_grad=True)

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return np.ones(3, dtype="float32") * (self.scale * 1).numpy()


if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    for batch in DataLoader(Rows(), batch_size=4, num_workers=2):
        batch = batch.to(device)
        print(tuple(batch.shape), batch.sum().item())
