"""The old names: torch.cuda.FloatTensor and its kin, default tensor types, typed storages."""

import warnings

import torch

warnings.simplefilter("ignore")  # most of it is deprecated, and much used
kinds = "Float Double Half BFloat16 Byte Char Short Int Long Bool".split()
for kind in kinds:
    cuda, cpu = getattr(torch.cuda, f"{kind}Tensor"), getattr(torch, f"{kind}Tensor")
    made = cuda([1, 0])
    assert made.device == torch.device("cuda:0") and made.tolist() == [1, 0], kind
    assert made.dtype == cuda.dtype == cpu.dtype
    assert cuda(2, 3).shape == (2, 3) and cuda().numel() == 0
    assert isinstance(made, cuda) and not isinstance(made, cpu)
    assert made.type() == f"torch.cuda.{kind}Tensor"
    assert made.cpu().type(cuda).is_cuda and made.cpu().type(made.type()).is_cuda
x = torch.ones(2, device="cuda")
assert x.new(3).is_cuda and x.new([1.0, 2.0]).tolist() == [1, 2]
assert torch.cuda.FloatTensor(x.storage()).data_ptr() == x.data_ptr()
assert torch.cuda.FloatStorage(3).device == torch.device("cuda:0")
try:
    torch.cuda.FloatTensor(torch.ones(2))
except TypeError as error:
    assert str(error).startswith("expected TensorOptions(dtype=float, device=cuda"), error
else:
    raise AssertionError("the tensor is on the CPU")

torch.set_default_tensor_type(torch.cuda.FloatTensor)
assert torch.ones(1).is_cuda and torch.tensor([1.0]).is_cuda and torch.arange(2).is_cuda
assert torch.Tensor([1.0, 2.0]).is_cuda and torch.nn.Linear(2, 2).weight.is_cuda
torch.set_default_tensor_type("torch.cuda.HalfTensor")
assert torch.ones(1).dtype is torch.float16
torch.set_default_tensor_type("torch.FloatTensor")
assert torch.ones(1).device.type == "cpu" and torch.ones(1).dtype is torch.float32
