"""Checkpoints go from device to device: map_location in all its forms, optimizers, random state."""

import copy
import io
import tempfile
import warnings
from pathlib import Path

import torch
from torch import nn

folder = Path(tempfile.mkdtemp())
assert torch.cuda.device_count() == 2
torch.manual_seed(3)


def step(model, optimizer, seed):
    device = next(model.parameters()).device
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(seed)).to(device)
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for seed in range(3):
    step(model, optimizer, seed)
path = folder / "model.pt"
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 3}, path)
expected = [step(copy.deepcopy(model), torch.optim.SGD(model.parameters(), 0.0), 9)]

for target in ("cpu", "cuda:1", torch.device("cuda", 0), lambda storage, where: storage.cuda(1)):
    saved = torch.load(path, map_location=target)
    device = saved["model"]["0.weight"].device
    if isinstance(target, (str, torch.device)):
        assert device == torch.device(target), (device, target)
    else:
        assert device == torch.device("cuda:1")
    again = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)).to(device)
    again.load_state_dict(saved["model"])
    resumed = torch.optim.AdamW(again.parameters(), lr=0.5)
    resumed.load_state_dict(saved["optimizer"])
    assert resumed.param_groups[0]["lr"] == 0.01
    assert all(s["exp_avg"].device == device for s in resumed.state.values())
    assert abs(step(again, resumed, 9) - expected[0]) < 1e-6

# Without map_location a tensor comes back to where it was, with its sharing and its class.
shared = torch.arange(6.0, device="cuda:1")
parameter = nn.Parameter(torch.ones(2, device="cuda:1"))
torch.save({"a": shared, "b": shared[2:4], "p": parameter}, path)
loaded = torch.load(path)
assert loaded["a"].device == torch.device("cuda:1") and isinstance(loaded["p"], nn.Parameter)
loaded["a"].zero_()
assert loaded["b"].tolist() == [0, 0]
assert torch.load(path, map_location={"cuda:1": "cuda:0"})["a"].device.index == 0
lazy = torch.load(path, map_location="cpu", mmap=True)
assert lazy["a"].tolist() == [0, 1, 2, 3, 4, 5]
buffer = io.BytesIO()
torch.save(shared, buffer, _use_new_zipfile_serialization=False)
buffer.seek(0)
assert torch.load(buffer).device == torch.device("cuda:1")

# A checkpoint of a machine with more devices.
written = path.read_bytes()
assert written.count(b"cuda:1") >= 1
(folder / "far.pt").write_bytes(written.replace(b"cuda:1", b"cuda:7"))
try:
    torch.load(folder / "far.pt")
except RuntimeError as error:
    assert "Attempting to deserialize object on CUDA device 7" in str(error), error
    assert "torch.cuda.device_count() is 2" in str(error), error
else:
    raise AssertionError("there is no device 7")

# Random numbers go on where they were.
torch.cuda.manual_seed_all(5)
states = torch.cuda.get_rng_state_all()
assert [s.numel() for s in states] == [16, 16]
first = [torch.rand(3, device=f"cuda:{i}") for i in (0, 1)]
torch.save(states, path)
torch.cuda.set_rng_state_all(torch.load(path))
again = [torch.rand(3, device=f"cuda:{i}") for i in (0, 1)]
assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
with torch.random.fork_rng():
    torch.rand(100, device="cuda")
    torch.rand(100)
after = torch.rand(1, device="cuda")
torch.cuda.set_rng_state_all(states)
torch.rand(3, device="cuda")
assert torch.equal(after, torch.rand(1, device="cuda"))

# Modules move with everything they have, and copies are copies.
module = nn.LSTM(3, 4).cuda()
twin = copy.deepcopy(module)
twin.weight_ih_l0.data.zero_()
assert module.weight_ih_l0.abs().sum() > 0
assert all(p.device.type == "cpu" for p in twin.cpu().parameters())
assert module.to("cuda:1", torch.float64).weight_ih_l0.dtype is torch.float64
meta = nn.Linear(3, 3, device="meta").to_empty(device="cuda:1")
assert meta.weight.device == torch.device("cuda:1")
with torch.device("cuda:1"), warnings.catch_warnings(action="error"):
    assert nn.Linear(2, 2).weight.device == torch.ones(1).device == torch.device("cuda:1")
