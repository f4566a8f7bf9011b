"""torch.distributed over gloo, two processes with a device each: collectives and
DistributedDataParallel, which learns what one process learns on the whole batch."""

import copy
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def collectives(rank):
    x = torch.full((3,), rank + 1.0, device="cuda")
    total = x.clone()
    dist.all_reduce(total)
    assert total.tolist() == [3, 3, 3] and total.device.index == rank
    most = x.half()
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    assert most.tolist() == [2, 2, 2]
    mean = x.clone()
    work = dist.all_reduce(mean, op=dist.ReduceOp.AVG, async_op=True)
    work.wait()
    assert mean.tolist() == [1.5] * 3 and work.is_completed()
    assert work.get_future().value()[0].is_cuda
    told = x.clone()
    dist.broadcast(told, 1)
    assert told.tolist() == [2, 2, 2]
    parts = [torch.empty(3, device="cuda") for _ in range(2)]
    dist.all_gather(parts, x)
    assert [p[0].item() for p in parts] == [1, 2]
    whole = torch.empty(6, device="cuda")
    dist.all_gather_into_tensor(whole, x)
    assert whole.tolist() == [1, 1, 1, 2, 2, 2]
    piece = torch.empty(3, device="cuda")
    dist.reduce_scatter_tensor(piece, torch.cat([x, 2 * x]))
    assert piece.tolist() == [3.0 * (rank + 1)] * 3
    swapped = torch.empty(2, device="cuda")
    dist.all_to_all_single(swapped, x[:2])
    assert swapped.tolist() == [1, 2]
    dist.reduce(whole, 0)
    dist.barrier()
    objects = [None, None]
    dist.all_gather_object(objects, {"rank": rank, "tensor": x.cpu()})
    assert objects[1]["rank"] == 1
    try:
        dist.all_reduce_coalesced([x, x])
    except RuntimeError as error:
        assert "unsupported device type cuda" in str(error), error
    else:
        raise AssertionError("gloo has no coalesced all_reduce for CUDA")


def learning(rank, views):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    alone = copy.deepcopy(model).cuda()
    model = DistributedDataParallel(model.cuda(), device_ids=[rank], gradient_as_bucket_view=views)
    optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (alone, model)]
    x, y = torch.randn(16, 4, device="cpu").cuda(), torch.randn(16, 1, device="cpu").cuda()
    mine = slice(rank * 8, rank * 8 + 8)
    for number in range(6):
        for m, a, b, optimizer in zip(
            (alone, model), (x, x[mine]), (y, y[mine]), optimizers, strict=True
        ):
            optimizer.zero_grad()
            if m is model and number == 3:
                with model.no_sync():
                    nn.functional.mse_loss(m(a), b).backward()
                optimizer.zero_grad()
            nn.functional.mse_loss(m(a), b).backward()
            optimizer.step()
    for a, b in zip(alone.parameters(), model.parameters(), strict=True):
        assert b.device.index == rank and b.grad.is_cuda
        assert torch.allclose(a, b, atol=1e-6)


def norms_over_both(rank):
    """SyncBatchNorm on half the batch each is BatchNorm on the whole."""
    torch.manual_seed(1)
    alone = nn.Sequential(nn.Conv1d(3, 4, 1), nn.BatchNorm1d(4), nn.Tanh()).cuda()
    model = DistributedDataParallel(
        nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(alone)), device_ids=[rank]
    )
    x = torch.randn(8, 3, 5).cuda()
    mine = slice(rank * 4, rank * 4 + 4)
    expected, found = alone(x), model(x[mine])
    close = {"atol": 1e-5, "rtol": 1e-4}
    assert torch.allclose(expected[mine], found, **close)
    expected.square().sum().backward()
    (2 * found.square().sum()).backward()  # DistributedDataParallel takes the mean
    pairs = zip(alone.parameters(), model.module.parameters(), strict=True)
    assert all(torch.allclose(a.grad, b.grad, **close) for a, b in pairs)
    for a, b in zip(alone[1].buffers(), model.module[1].buffers(), strict=True):
        assert torch.allclose(a, b, **close)


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    collectives(rank)
    for views in (False, True):
        learning(rank, views)
    norms_over_both(rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(main, (port,), nprocs=2)
    try:
        dist.init_process_group("nccl", rank=0, world_size=1, store=dist.HashStore())
    except RuntimeError as error:
        assert "NCCL" in str(error), error
    else:
        raise AssertionError("there is no NCCL")
