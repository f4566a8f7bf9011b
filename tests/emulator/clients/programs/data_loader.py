"""DataLoader with workers of both kinds and pinned batches feeds a model on the device."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, index):
        x = torch.full((4,), float(index))
        return {"x": x, "y": (x**2).sum(), "index": index}


def train(context, workers):
    torch.manual_seed(0)
    loader = DataLoader(
        Squares(),
        batch_size=8,
        shuffle=True,
        num_workers=workers,
        multiprocessing_context=context,
        pin_memory=True,
        persistent_workers=workers > 0,
    )
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    seen = []
    for _ in range(2):
        for batch in loader:
            assert batch["x"].is_pinned() and batch["y"].is_pinned()
            x = batch["x"].to("cuda", non_blocking=True)
            y = batch["y"].to("cuda", non_blocking=True)
            assert torch.equal((x**2).sum(1), y)
            loss = nn.functional.mse_loss(model(x / 48).squeeze(1), y / 9216)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += batch["index"].tolist()
    assert sorted(seen) == sorted([*range(48), *range(48)])
    return loss.item()


if __name__ == "__main__":
    assert torch.cuda.is_available()
    train(None, 0)
    assert train("fork", 2) == train("spawn", 1)  # batches come in the sampler's order
