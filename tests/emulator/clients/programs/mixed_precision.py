"""Mixed precision with GradScaler: half and bfloat16, an overflow skips a step, state is saved."""

import torch
from torch import nn
from torch.amp import GradScaler, autocast


def train(dtype, steps=12):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 3)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = GradScaler("cuda", init_scale=1024.0, enabled=dtype is torch.float16)
    x, y = torch.randn(32, 8).cuda(), torch.randint(3, (32,)).cuda()
    losses = []
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        with autocast("cuda", dtype=dtype):
            logits = model(x)
            assert logits.dtype is dtype
            loss = nn.functional.cross_entropy(logits, y)
            assert loss.dtype is torch.float32
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        assert norm.is_cuda and torch.isfinite(norm)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0] * 0.8, losses
    return losses


def overflow():
    """An infinite gradient leaves the weights alone and halves the scale."""
    weight = nn.Parameter(torch.ones(3, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = GradScaler("cuda", init_scale=8.0, growth_interval=1)
    scaler.scale((weight * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [1.0, 1.0, 1.0] and scaler.get_scale() == 4.0
    optimizer.zero_grad()
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert torch.allclose(weight, torch.full((3,), 0.9, device="cuda"))
    assert scaler.get_scale() == 8.0
    again = GradScaler("cuda")
    again.load_state_dict(scaler.state_dict())
    assert again.get_scale() == 8.0


half, brain = train(torch.float16), train(torch.bfloat16)
assert all(abs(a - b) < 0.05 for a, b in zip(half, brain, strict=True))
overflow()
with autocast("cuda"):  # what autocast leaves in single precision, and what promotes
    x = torch.randn(4, 4, device="cuda")
    assert (x @ x).dtype is torch.float16
    assert torch.softmax(x @ x, 0).dtype is torch.float32
    assert ((x @ x) + x).dtype is torch.float32
    assert nn.functional.conv2d(x[None, None], x[None, None]).dtype is torch.float16
    with autocast("cuda", enabled=False):
        assert (x @ x).dtype is torch.float32
    try:
        nn.functional.binary_cross_entropy(torch.sigmoid(x), torch.rand_like(x))
    except RuntimeError as error:
        assert "unsafe to autocast" in str(error), error
    else:
        raise AssertionError("binary_cross_entropy is unsafe to autocast")
