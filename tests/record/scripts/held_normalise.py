# prints: 0.000 1.000
# prints: [0.0, 2.0, 4.0]
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def normalise(rows):
    rows -= rows.mean()
    rows /= rows.std()


data = torch.arange(6.0, device=device)
normalise(data.numpy())
print(f"{abs(data.mean().item()):.3f} {data.std(unbiased=False).item():.3f}")


class Holder:
    def __init__(self):
        self.weights = torch.tensor([0.0, 1.0, 2.0], device=device, requires_grad=True)

    def double(self):
        raw = self.weights.detach().numpy()
        for i in range(len(raw)):
            raw[i] = raw[i] * 2


holder = Holder()
holder.double()
print(holder.weights.tolist())
