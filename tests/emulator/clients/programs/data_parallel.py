"""nn.DataParallel on two devices gives the gradients of one device."""

import copy

import torch
from torch import nn

assert torch.cuda.device_count() == 2
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4 * 16, 5)
        self.devices = []

    def forward(self, x, scale=1.0):
        assert x.device == self.head.weight.device
        self.devices.append(x.device.index)
        return {"logits": self.head(torch.relu(self.conv(x)).flatten(1) * scale)}


alone = Net().cuda().train()
parallel = nn.DataParallel(copy.deepcopy(alone), device_ids=[0, 1])
x, y = torch.randn(10, 1, 4, 4, device="cuda"), torch.randint(5, (10,), device="cuda")
for _ in range(3):
    losses = []
    for model in (alone, parallel):
        model.zero_grad()
        logits = model(x, scale=0.5)["logits"]
        assert logits.shape == (10, 5) and logits.device == torch.device("cuda:0")
        loss = nn.functional.cross_entropy(logits, y)
        loss.backward()
        losses.append(loss.item())
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert abs(losses[0] - losses[1]) < 1e-5, losses
for a, b in zip(alone.parameters(), parallel.module.parameters(), strict=True):
    assert b.device == torch.device("cuda:0")
    assert torch.allclose(a, b, atol=1e-5)
assert torch.cuda.memory_allocated(1) >= 0 and torch.cuda.max_memory_allocated(1) > 0

# The pieces that DataParallel is made of.
parts = nn.parallel.scatter(torch.arange(10.0, device="cuda"), [0, 1])
assert [p.device.index for p in parts] == [0, 1] and parts[1].tolist() == [5, 6, 7, 8, 9]
assert nn.parallel.gather(parts, 0).tolist() == list(range(10))
copies = nn.parallel.replicate(nn.Linear(2, 2).cuda(), [0, 1])
assert [c.weight.device.index for c in copies] == [0, 1]
outputs = nn.parallel.parallel_apply(copies, [torch.ones(1, 2, device=f"cuda:{i}") for i in (0, 1)])
assert torch.equal(outputs[0].cpu(), outputs[1].cpu())
try:
    nn.DataParallel(Net().cuda(1), device_ids=[0, 1])(x)
except RuntimeError as error:
    assert "module must have its parameters and buffers on device cuda:0" in str(error), error
else:
    raise AssertionError("the module was on the wrong device")
