"""Gradient accumulation and clipping give what one large batch gives; hooks, averages, custom
functions, recomputed and off-loaded activations."""

import copy

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_, parameters_to_vector
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
x, y = torch.randn(32, 6, device="cuda"), torch.randn(32, 2, device="cuda")
whole = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2)).cuda()
parts = copy.deepcopy(whole)
average = AveragedModel(parts, multi_avg_fn=get_ema_multi_avg_fn(0.9))
optimizers = [torch.optim.SGD(m.parameters(), 0.2, momentum=0.9) for m in (whole, parts)]
for _ in range(10):
    for optimizer in optimizers:
        optimizer.zero_grad()
    nn.functional.mse_loss(whole(x), y).backward()
    for a, b in zip(x.chunk(4), y.chunk(4), strict=True):
        (nn.functional.mse_loss(parts(a), b) / 4).backward()
    norms = [clip_grad_norm_(m.parameters(), 0.5, error_if_nonfinite=True) for m in (whole, parts)]
    assert torch.allclose(*norms, rtol=1e-4)
    total = torch.linalg.vector_norm(torch.stack([p.grad.norm() for p in whole.parameters()]))
    assert total <= 0.5001
    for optimizer in optimizers:
        optimizer.step()
    average.update_parameters(parts)
a, b = (parameters_to_vector(m.parameters()) for m in (whole, parts))
assert torch.allclose(a, b, atol=1e-5) and a.is_cuda
assert not torch.equal(parameters_to_vector(average.module.parameters()), b)
clip_grad_value_(parts.parameters(), 1e-3)
assert all(p.grad.abs().max() <= 1e-3 for p in parts.parameters())

# Recomputed activations: the same gradient, dropout included.
block = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.Linear(6, 1)).cuda()
gradients = []
for again in (False, True):
    torch.cuda.manual_seed(1)
    block.zero_grad()
    out = checkpoint(block, x, use_reentrant=False) if again else block(x)
    out.sum().backward()
    gradients.append(parameters_to_vector([p.grad for p in block.parameters()]))
assert torch.equal(*gradients)

# Saved activations that wait on the host.
with torch.autograd.graph.save_on_cpu(pin_memory=True):
    w = torch.randn(64, 64, device="cuda", requires_grad=True)
    out = (w @ w).relu().sum()
out.backward()
expected = torch.autograd.grad((w @ w).relu().sum(), w)[0]
assert torch.equal(w.grad, expected)

# A gradient that a hook brings to the host.
seen = []
w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.norm().item()))
(w * 2).sum().backward()
assert len(seen) == 1 and seen[0] > 0


class Clamp(torch.autograd.Function):
    """A custom function, as extensions write them."""

    @staticmethod
    def forward(ctx, x, low):
        ctx.save_for_backward(x)
        ctx.low = low
        return x.clamp(min=low)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        assert grad.is_cuda and x.is_cuda
        return grad * (x > ctx.low), None


v = torch.randn(10, dtype=torch.float64, device="cuda", requires_grad=True)
assert torch.autograd.gradcheck(lambda t: Clamp.apply(t, 0.1), (v,))
assert torch.autograd.gradgradcheck(torch.sin, (v,))
jacobian = torch.func.vmap(torch.func.jacrev(lambda t: (t**2).sum()))(v[:, None])
assert torch.allclose(jacobian, 2 * v[:, None])
