"""The prefetcher of many training loops: a side stream copies the next batch out of pinned memory
and results go back to it. With the wait the values are right; without it they are poison."""

import sys

import torch


class Prefetcher:
    def __init__(self, batches):
        self.batches = iter(batches)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        host = next(self.batches, None)
        self.next = None
        if host is not None:
            with torch.cuda.stream(self.stream):
                self.next = host.to("cuda", non_blocking=True)

    def __iter__(self):
        while self.next is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
            batch = self.next
            batch.record_stream(torch.cuda.current_stream())
            self.preload()
            yield batch


def results(wait):
    """Bring a sum per batch back into pinned memory on a stream of its own."""
    back = torch.cuda.Stream()
    pending, read = [], []
    for batch in Prefetcher([torch.full((64,), float(i)).pin_memory() for i in range(6)]):
        total = batch.sum()
        back.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(back):
            host = torch.empty((), pin_memory=True)
            host.copy_(total, non_blocking=True)
            total.record_stream(back)
            done = back.record_event()
        if wait:
            done.synchronize()
        read.append(float(host.numpy()))
        pending.append(host)
    torch.cuda.synchronize()
    assert [float(host) for host in pending] == [64.0 * i for i in range(6)]
    return read


if __name__ == "__main__":
    right, wrong = results(wait=True), results(wait=False)
    assert right == [64.0 * i for i in range(6)], right
    assert all(value != value for value in wrong), wrong

    # The same for whole tensors: .to() gives pinned memory, which arrives late.
    x = torch.arange(1000, device="cuda")
    early = x.to("cpu", non_blocking=True)
    assert early.is_pinned() and not torch.equal(early, torch.arange(1000))
    torch.cuda.current_stream().synchronize()
    assert torch.equal(early, torch.arange(1000))

    # An event of a stream says no first, then yes.
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    x.to("cpu", non_blocking=True)
    end.record()
    polls = 0
    while not end.query():
        polls += 1
        assert polls < 1000
    assert start.elapsed_time(end) >= 0
    sys.exit(0)
