"""torch.compile with the back ends that generate no code, export, fx, script, vmap, optree."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)
        self.second = nn.Linear(16, 2)

    def forward(self, x):
        x = torch.relu(self.first(x))
        if x.shape[0] > 4:
            x = x * 2
        return self.second(self.norm(x)).softmax(-1)


for backend in ("eager", "aot_eager"):
    torch._dynamo.reset()
    net = Net().cuda()
    compiled = torch.compile(net, backend=backend, fullgraph=True)
    for rows in (3, 6, 3):
        x = torch.randn(rows, 8, device="cuda", requires_grad=True)
        expected = net(x)
        expected_gradient = torch.autograd.grad(expected[:, 0].sum(), x)[0]
        found = compiled(x)
        gradient = torch.autograd.grad(found[:, 0].sum(), x)[0]
        assert torch.allclose(expected, found, atol=1e-6) and found.is_cuda
        assert torch.allclose(expected_gradient, gradient, atol=1e-6)


@torch.compile(backend="aot_eager")
def mixed(x):
    return x + torch.ones(3, 8)


try:
    mixed(torch.ones(3, 8, device="cuda"))
except Exception as error:
    assert "cuda" in str(error) and "cpu" in str(error), error
else:
    raise AssertionError("the devices differ")

net = Net().cuda().eval()
x = torch.randn(5, 8, device="cuda")
assert torch.allclose(
    torch.fx.symbolic_trace(nn.Sequential(net.first, net.norm))(x), net.norm(net.first(x))
)
assert torch.allclose(torch.jit.trace(net, x)(x), net(x), atol=1e-6)
assert torch.allclose(
    torch.jit.script(nn.Sequential(net.first, net.norm))(x), net.norm(net.first(x))
)
exported = torch.export.export(net, (x,))
assert torch.allclose(exported.module()(x), net(x), atol=1e-6)

from torch._subclasses import FakeTensorMode  # noqa: E402

with FakeTensorMode():
    fake = torch.empty(4, 8, device="cuda")
    assert (fake @ torch.empty(8, 3, device="cuda")).device == torch.device("cuda:0")
    try:
        fake + torch.empty(4, 8)
    except RuntimeError as error:
        assert "different" in str(error) or "two devices" in str(error), error
    else:
        raise AssertionError("the devices differ")

functional = torch.func.functional_call(net, dict(net.named_parameters()), (x,))
assert torch.equal(functional, net(x))
gradients = torch.func.vmap(
    torch.func.grad(lambda p, r: torch.func.functional_call(net, p, (r[None],)).square().sum()),
    in_dims=(None, 0),
)(dict(net.named_parameters()), x)
assert gradients["first.weight"].shape == (5, 16, 8) and gradients["first.weight"].is_cuda

import optree  # noqa: E402

moved = optree.tree_map(lambda t: t.to("cuda"), {"a": [torch.ones(1), (torch.zeros(2),)]})
assert all(t.is_cuda for t in optree.tree_leaves(moved))
