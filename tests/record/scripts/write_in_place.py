# prints: 0.0 3.0 [0. 1. 2. 3.]
# prints: 10.0
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def clip_(tensor):
    array = tensor.numpy()
    array[array < 0] = 0
    return array.sum()


values = torch.tensor([-1.0, 1.0, 2.0, -3.0], device=device)
total = clip_(values)
print(
    values.min().item(),
    float(total),
    values.sort().values.tolist()
    and values.abs().add(torch.tensor([0.0, 0.0, 0.0, 3.0], device=device)).cpu().numpy(),
)
weights = torch.ones(4, device=device)
view = weights.numpy()
view += 1.5
print(weights.sum().item())
