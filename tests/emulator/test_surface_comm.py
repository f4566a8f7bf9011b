"""Copies between devices for DataParallel: torch.cuda.comm."""

from __future__ import annotations

import pytest
from test_surface import emulated

torch = pytest.importorskip("torch")
comm = pytest.importorskip("torch.cuda.comm")


@emulated
def test_broadcast() -> None:
    x = torch.arange(3.0, device="cuda:0")
    here, there = comm.broadcast(x, (0, 1))
    assert here.data_ptr() == x.data_ptr()
    assert there.device == torch.device("cuda:1") and there.tolist() == [0, 1, 2]
    from_host = comm.broadcast(torch.ones(2), (1, 0))
    assert [t.get_device() for t in from_host] == [1, 0]
    outputs = [torch.zeros(3, device="cuda:1"), torch.zeros(3, device="cuda:0")]
    comm.broadcast(x, out=outputs)
    assert all(t.tolist() == [0, 1, 2] for t in outputs)


@emulated
def test_broadcast_refuses() -> None:
    x = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="Exactly one of 'devices' and 'out'"):
        comm.broadcast(x)
    with pytest.raises(RuntimeError, match="Expected non-negative device index, but got -1"):
        torch._C._broadcast(x, [0, -1])
    with pytest.raises(RuntimeError, match="output tensor at index 0 has device 'cpu'"):
        comm.broadcast(x, out=[torch.ones(3)])
    with pytest.raises(RuntimeError, match="same shape as the source tensor"):
        comm.broadcast(x, out=[torch.ones(2, device="cuda")])
    with pytest.raises(TypeError):
        torch._C._broadcast(3, [0])


@emulated
def test_broadcast_coalesced() -> None:
    tensors = [torch.ones(2, device="cuda"), torch.zeros(3, dtype=torch.long, device="cuda")]
    first, second = comm.broadcast_coalesced(tensors, (0, 1))
    assert first[0].data_ptr() == tensors[0].data_ptr()
    assert [t.dtype for t in second] == [torch.float32, torch.long]
    assert all(t.get_device() == 1 and not t.requires_grad for t in second)
    second[0].add_(1)
    assert second[1]._version == 0
    with pytest.raises(RuntimeError, match=r"All tensors must be on devices\[0\]: 1"):
        comm.broadcast_coalesced(tensors, (1, 0))


@emulated
def test_scatter() -> None:
    x = torch.arange(10.0, device="cuda").view(5, 2)
    chunks = comm.scatter(x, (0, 1))
    assert [t.shape[0] for t in chunks] == [3, 2]
    assert [t.get_device() for t in chunks] == [0, 1]
    assert torch.equal(torch.cat([t.cpu() for t in chunks]), x.cpu())
    sized = comm.scatter(x.cpu(), (0, 1), chunk_sizes=(1, 4))
    assert [t.shape[0] for t in sized] == [1, 4]
    side = comm.scatter(x, (0, 1), dim=1, streams=[None, torch.cuda.Stream(1)])
    assert [tuple(t.shape) for t in side] == [(5, 1), (5, 1)]
    assert torch.cuda.current_device() == 0
    outputs = [torch.zeros(2, 2, device="cuda:1"), torch.zeros(3, 2, device="cuda:0")]
    comm.scatter(x, out=outputs)
    assert outputs[1].tolist() == x[2:].tolist()


@emulated
def test_scatter_refuses() -> None:
    x = torch.ones(4, 2, device="cuda")
    with pytest.raises(RuntimeError, match=r"got len\(devices\) = 2 and len\(chunk_sizes\) = 1"):
        comm.scatter(x, (0, 1), chunk_sizes=(4,))
    with pytest.raises(RuntimeError, match=r"at index 1 \(was 0\) to match .*\(expected 1\)"):
        comm.scatter(x, (0, 1), streams=[None, torch.cuda.Stream(0)])
    with pytest.raises(RuntimeError, match="Expected at least one device to scatter to"):
        torch._C._scatter(x, [], None, 0, None)
    with pytest.raises(RuntimeError, match="has incorrect shape"):
        comm.scatter(x, out=[torch.ones(4, 3, device="cuda")])
    with pytest.raises(RuntimeError, match="Expected 4, but got total size 2"):
        comm.scatter(x, out=[torch.ones(2, 2, device="cuda")])


@emulated
def test_gather() -> None:
    parts = [torch.ones(2, 3, device="cuda:0"), torch.zeros(1, 3, device="cuda:1")]
    whole = comm.gather(parts, destination=1)
    assert whole.device == torch.device("cuda:1") and whole.shape == (3, 3)
    assert comm.gather(parts, destination="cpu").sum() == 6
    assert comm.gather(parts).get_device() == 0
    output = torch.empty(3, 3, device="cuda:0")
    assert comm.gather(parts, out=output) is output
    assert output.sum().item() == 6
    images = [torch.ones(1, 3, 2, 2, device="cuda").to(memory_format=torch.channels_last)] * 2
    assert comm.gather(images).is_contiguous(memory_format=torch.channels_last)


@emulated
def test_gather_refuses() -> None:
    x = torch.ones(2, 3, device="cuda")
    with pytest.raises(RuntimeError, match="Expected at least one tensor to gather from"):
        comm.gather([])
    with pytest.raises(RuntimeError, match="tensor at index 1 has device 'cpu'"):
        comm.gather([x, torch.ones(2, 3)])
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        comm.gather([x, torch.ones(2, device="cuda")])
    with pytest.raises(RuntimeError, match=r"index 1 has invalid shape \[2, 4\]"):
        comm.gather([x, torch.ones(2, 4, device="cuda")])
    with pytest.raises(RuntimeError, match=r"Expected out tensor to have shape \[4, 3\]"):
        comm.gather([x, x], out=torch.empty(3, 3, device="cuda"))


@emulated
def test_reduce_add() -> None:
    parts = [torch.ones(3, device=f"cuda:{i}") for i in range(2)]
    total = comm.reduce_add(parts, destination=1)
    assert total.device == torch.device("cuda:1") and total.tolist() == [2, 2, 2]
    (summed,) = comm.reduce_add_coalesced([[part] for part in parts], destination=0)
    assert summed.tolist() == [2, 2, 2]


@emulated
def test_data_parallel_trains() -> None:
    torch.manual_seed(0)
    plain = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).cuda()
    model = torch.nn.DataParallel(plain)
    x = torch.randn(6, 3, device="cuda")
    model(x).square().sum().backward()
    assert plain[0].weight.grad.isfinite().all().item()
    assert torch.nn.parallel.data_parallel(plain.eval(), x, [0, 1]).shape == (6, 4)
