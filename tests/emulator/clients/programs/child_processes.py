"""torch.multiprocessing with spawn: each child has the devices; fork after use is an error."""

import os
import sys

import torch
import torch.multiprocessing as mp


def child(rank, queue, size):
    torch.cuda.set_device(rank)
    x = torch.full((3,), float(rank + 1), device="cuda", requires_grad=True)
    (x**2).sum().backward()
    assert x.grad.device.index == rank
    queue.put((rank, x.grad.cpu().numpy()))


def failing(rank):
    if rank == 1:
        torch.ones(1, device="cuda") + torch.ones(1, device="cuda:1")


def use_in_fork(queue):
    try:
        torch.ones(1, device="cuda")
    except RuntimeError as error:
        queue.put(str(error))
    else:
        queue.put("nothing raised")


if __name__ == "__main__":
    torch.ones(1).cuda()
    context = mp.get_context("spawn")
    queue = context.SimpleQueue()
    mp.spawn(child, (queue, 2), nprocs=2)
    answers = dict(queue.get() for _ in range(2))
    assert answers[0].tolist() == [2.0] * 3 and answers[1].tolist() == [4.0] * 3, answers

    try:
        mp.spawn(failing, nprocs=2)
    except mp.ProcessRaisedException as error:
        assert "at least two devices, cuda:0 and cuda:1" in str(error), error
    else:
        raise AssertionError("a child failed")

    fork = mp.get_context("fork")
    queue = fork.SimpleQueue()
    process = fork.Process(target=use_in_fork, args=(queue,))
    process.start()
    words = queue.get()
    process.join()
    assert words.startswith("Cannot re-initialize CUDA in forked subprocess"), words

    # Threads of one process, each with its device and stream.
    from concurrent.futures import ThreadPoolExecutor

    def work(number):
        with torch.cuda.device(number % 2), torch.cuda.stream(torch.cuda.Stream()):
            a = torch.randn(32, 32, device="cuda", requires_grad=True)
            for _ in range(10):
                (a @ a).tanh().sum().backward()
            torch.cuda.current_stream().synchronize()
            return a.grad.device.index == number % 2 and bool(torch.isfinite(a.grad).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(32)))
    sys.exit(0 if os.getpid() else 1)
