"""Accelerate's loop on one device: mixed precision, accumulation, clipping, a checkpoint; and big
models in pieces."""

import sys
import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(
    mixed_precision=sys.argv[1] if sys.argv[1:] else "fp16", gradient_accumulation_steps=2
)
assert accelerator.device.type == "cuda", accelerator.device
x = torch.randn(64, 5)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 8, shuffle=True)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step / 100))
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
losses = []
for _ in range(8):
    for a, b in loader:
        assert a.device.type == "cuda"
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(a), b)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather_for_metrics(loss.detach()).mean().item())
assert sum(losses[-8:]) < 0.3 * sum(losses[:8]), losses
with tempfile.TemporaryDirectory() as folder:
    before = accelerator.unwrap_model(model)[0].weight.detach().clone()
    accelerator.save_state(folder)
    with torch.no_grad():
        accelerator.unwrap_model(model)[0].weight.zero_()
    accelerator.load_state(folder)
    assert torch.equal(before, accelerator.unwrap_model(model)[0].weight)
accelerator.wait_for_everyone()
accelerator.free_memory()

# Big models: pieces of one model on several devices and the CPU.
from accelerate import cpu_offload, dispatch_model, infer_auto_device_map  # noqa: E402

big = nn.Sequential(*[nn.Linear(32, 32) for _ in range(6)])
expected = big(torch.ones(1, 32))
limits = dict.fromkeys(range(torch.cuda.device_count()), 3 * 32 * 33 * 4)
places = infer_auto_device_map(big, max_memory={**limits, "cpu": 1 << 20})
assert 0 in places.values() and "cpu" in places.values()
big = dispatch_model(big, places)
assert torch.allclose(big(torch.ones(1, 32)).cpu(), expected, atol=1e-6)
small = cpu_offload(nn.Linear(4, 4), execution_device=torch.device("cuda"))
assert small(torch.ones(1, 4, device="cuda")).device.type == "cuda"
assert small(torch.ones(1, 4)).device.type == "cpu"  # back where the input was
