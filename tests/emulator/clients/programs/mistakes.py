"""The mistakes that people make with two places for tensors: each raises PyTorch's own message."""

import numpy as np
import torch
from torch import nn

assert torch.cuda.device_count() == 2
gpu, cpu, other = torch.ones(2, 3, device="cuda"), torch.ones(2, 3), torch.ones(2, 3).cuda(1)
linear, embedding = nn.Linear(3, 2).cuda(), nn.Embedding(4, 3).cuda()
index = torch.tensor([0, 1])
BOTH = "Expected all tensors to be on the same device, "
TWO = "found at least two devices"


def numpy_of_a_model_output():
    return linear(gpu).detach().numpy()


def train_step_without_to():
    loss = nn.functional.cross_entropy(linear(gpu), index)
    loss.backward()


def optimizer_before_cuda():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters())
    model(cpu).sum().backward()
    optimizer.step()
    for p in model.parameters():
        p.data, p.grad = p.data.cuda(), p.grad.cuda()
    optimizer.step()


def hidden_state_left_behind():
    rnn = nn.LSTM(3, 4).cuda()
    rnn(gpu[None], (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)))


def mask_left_behind():
    attention = nn.MultiheadAttention(4, 2).cuda()
    q = torch.ones(2, 1, 4, device="cuda")
    attention(q, q, q, attn_mask=torch.zeros(2, 2))


def buffer_left_behind():
    class Positions(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.randn(2, 3)  # not a buffer: .cuda() leaves it

        def forward(self, x):
            return x + self.table

    Positions().cuda()(gpu)


def in_place_on_a_leaf():
    w = torch.ones(3, device="cuda", requires_grad=True)
    w += 1


def backward_twice():
    w = torch.ones(3, device="cuda", requires_grad=True)
    y = (w * w).sum()
    y.backward()
    y.backward()


def changed_in_place():
    w = torch.ones(3, device="cuda", requires_grad=True)
    y = w.exp()
    y += 1
    y.sum().backward()


def wrong_gradient_device():
    w = torch.ones(3, device="cuda", requires_grad=True)
    (w * 2).backward(torch.ones(3))


cases = [
    (lambda: gpu + cpu, RuntimeError, BOTH + "but " + TWO),
    (lambda: gpu + other, RuntimeError, "cuda:0 and cuda:1"),
    (lambda: linear(cpu), RuntimeError, BOTH),
    (lambda: nn.Linear(3, 2)(gpu), RuntimeError, BOTH),
    (lambda: embedding(index), RuntimeError, BOTH),
    (
        lambda: nn.Conv2d(8, 8, 3).cuda()(torch.ones(8, 8, 32, 32)),
        RuntimeError,
        "should be the same",
    ),
    (lambda: torch.cat([gpu, cpu]), RuntimeError, BOTH),
    (lambda: torch.stack([gpu, other]), RuntimeError, BOTH),
    (lambda: gpu @ cpu.T, RuntimeError, BOTH),
    (lambda: torch.where(gpu > 0, gpu, cpu), RuntimeError, BOTH),
    (lambda: cpu[index.cuda()], RuntimeError, "indices should be either on cpu or on the same"),
    (lambda: gpu.gather(1, index[:, None]), RuntimeError, BOTH),
    (lambda: gpu.index_add(0, index, cpu), RuntimeError, BOTH),
    (lambda: torch.bucketize(gpu, torch.arange(3.0)), RuntimeError, "same device"),
    (lambda: nn.functional.mse_loss(gpu, cpu), RuntimeError, BOTH),
    (lambda: nn.BatchNorm1d(3)(gpu), RuntimeError, BOTH),
    (lambda: nn.LayerNorm(3)(gpu), RuntimeError, BOTH),
    (train_step_without_to, RuntimeError, BOTH),
    (hidden_state_left_behind, RuntimeError, "are not at the same device"),
    (mask_left_behind, RuntimeError, "same device"),
    (buffer_left_behind, RuntimeError, BOTH),
    (optimizer_before_cuda, RuntimeError, ""),
    (numpy_of_a_model_output, TypeError, "Use Tensor.cpu() to copy the tensor to host memory"),
    (lambda: np.asarray(gpu), TypeError, "can't convert cuda:0 device type tensor to numpy"),
    (lambda: torch.from_numpy(gpu), TypeError, "expected np.ndarray (got Tensor)"),
    (lambda: gpu.pin_memory(), RuntimeError, "cannot pin 'torch.cuda.FloatTensor'"),
    (lambda: gpu.to("cuda:5"), RuntimeError, "invalid device ordinal"),
    (lambda: torch.ones(1, device="cuda:2"), RuntimeError, "invalid device ordinal"),
    (lambda: torch.cuda.set_device(2), RuntimeError, "invalid device ordinal"),
    (lambda: torch.randn(2, device="cuda", generator=torch.Generator()), RuntimeError, "generator"),
    (lambda: torch.randn(2, generator=torch.Generator("cuda")), RuntimeError, "generator"),
    (lambda: torch.ones(2, device="cuda").set_(cpu.untyped_storage()), RuntimeError, "device"),
    (lambda: torch.utils.dlpack.from_dlpack(gpu).numpy(), TypeError, "can't convert cuda:0"),
    (lambda: gpu[cpu], IndexError, "tensors used as indices"),
    (lambda: gpu.view(4), RuntimeError, "is invalid for input of size 6"),
    (lambda: linear(torch.ones(2, 4).cuda()), RuntimeError, "shapes cannot be multiplied"),
    (lambda: gpu.double() @ gpu.T, RuntimeError, "same dtype"),
    (lambda: gpu.long() @ gpu.long().T, RuntimeError, "\"addmm_cuda\" not implemented for 'Long'"),
    (lambda: gpu.half() @ gpu.T, RuntimeError, "same dtype"),
    (in_place_on_a_leaf, RuntimeError, "a leaf Variable that requires grad"),
    (backward_twice, RuntimeError, "Trying to backward through the graph a second time"),
    (changed_in_place, RuntimeError, "modified by an inplace operation"),
    (wrong_gradient_device, RuntimeError, "device"),
    (lambda: torch.cuda.FloatTensor([1.0]) + torch.FloatTensor([1.0]), RuntimeError, BOTH),
    (lambda: cpu.copy_(gpu).add_(gpu), RuntimeError, TWO),
    (lambda: torch.add(cpu, cpu, out=gpu), RuntimeError, ""),
    (lambda: gpu.cuda(2), RuntimeError, "invalid device ordinal"),
]
failures = []
for number, (mistake, kind, words) in enumerate(cases):
    try:
        mistake()
    except kind as error:
        if words not in str(error):
            failures.append(f"{number}: {words!r} not in {error}")
    except Exception as error:
        failures.append(f"{number}: wanted {words!r}: {type(error).__name__}: {error}")
    else:
        failures.append(f"{number}: nothing raised; wanted {words!r}")
assert not failures, "\n".join(failures)

# And what is no mistake.
assert (gpu + torch.tensor(1.0)).device == gpu.device  # a CPU scalar
assert gpu[index].is_cuda and gpu[cpu > 0].is_cuda and gpu[index.numpy()].is_cuda
assert (gpu * np.float32(2)).is_cuda and (2.0 * gpu).is_cuda
assert cpu.to(gpu).is_cuda and cpu.type_as(gpu).is_cuda
gpu[0] = cpu[0]
other.copy_(gpu)
assert torch.equal(other.cpu(), gpu.cpu())
assert gpu.cpu().numpy().sum() == 6 and gpu.tolist() and gpu.sum().item() == 6
assert torch.equal(torch.where(gpu > 0, torch.tensor(1.0), gpu), gpu)
