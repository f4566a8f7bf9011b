"""Out of memory and what programs do about it; statistics, summaries, the profiler; no growth."""

import gc
import resource
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

MiB = 1 << 20
free, total = torch.cuda.mem_get_info()
assert total == 2048 * MiB, total


def batch_size_finder():
    """Halve the batch until it fits, as tools do."""
    size = 1 << 16
    weight = torch.randn(1024, 1024, device="cuda", requires_grad=True)
    tries = 0
    while True:
        try:
            out = torch.empty(size, 1024, device="cuda") @ weight
            out.sum().backward()
            return size, tries
        except torch.OutOfMemoryError as error:
            assert "CUDA out of memory. Tried to allocate" in str(error), error
            assert "of which" in str(error) and "is free" in str(error), error
            tries += 1
            size //= 4
        finally:
            out = None
            gc.collect()
            torch.cuda.empty_cache()


size, tries = 0, 0
if "growth" not in sys.argv:
    try:
        torch.empty(3000 * MiB, dtype=torch.uint8, device="cuda")
    except RuntimeError as error:  # the old way to catch it
        assert "out of memory" in str(error) and isinstance(error, torch.OutOfMemoryError)
    else:
        raise AssertionError("3000 MiB do not fit")
    blocks = []
    try:
        while True:
            blocks.append(torch.empty(300 * MiB, dtype=torch.uint8, device="cuda"))
    except torch.cuda.OutOfMemoryError:
        assert len(blocks) == 6
    stats = torch.cuda.memory_stats()
    assert stats["num_ooms"] >= 2 and stats["num_alloc_retries"] >= 1
    assert torch.cuda.memory_allocated() == 6 * 300 * MiB
    blocks.clear()
    assert torch.cuda.memory_allocated() == 0 and torch.cuda.memory_reserved() == 6 * 300 * MiB
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0
    torch.cuda.reset_peak_memory_stats()
    big = torch.empty(64 * MiB, dtype=torch.uint8, device="cuda")
    del big
    assert torch.cuda.max_memory_allocated() == 64 * MiB
    torch.cuda.set_per_process_memory_fraction(0.25)
    try:
        torch.empty(600 * MiB, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        pass
    else:
        raise AssertionError("a quarter of the memory is 512 MiB")
    torch.cuda.set_per_process_memory_fraction(1.0)
    summary = torch.cuda.memory_summary()
    assert "PyTorch CUDA memory summary, device ID 0" in summary and "Allocated memory" in summary
    assert "Active allocs" in torch.cuda.memory_summary(abbreviated=True)
    assert torch.cuda.memory_snapshot() is not None

    # The profiler.
    model = nn.Linear(64, 64).cuda()
    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=both, profile_memory=True) as prof, record_function("my step"):
        model(torch.ones(8, 64, device="cuda")).sum().backward()
    table = prof.key_averages().table(sort_by="cpu_time_total")
    assert all(word in table for word in ("my step", "aten::addmm", "CUDA time avg")), table
    with torch.autograd.profiler.emit_nvtx(), torch.cuda.nvtx.range("step"):
        model(torch.ones(8, 64, device="cuda"))
    del model, prof

# 200 steps later, memory is what it was.
torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 32),
    nn.Dropout(0.1), nn.Linear(32, 4),
).cuda()  # fmt: skip
rnn = nn.LSTM(8, 16).cuda()
optimizer = torch.optim.AdamW([*model.parameters(), *rnn.parameters()])
side = torch.cuda.Stream()


def one_step():
    x = torch.randn(16, 3, 8, 8).pin_memory().to("cuda", non_blocking=True)
    with torch.amp.autocast("cuda", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(x), torch.randint(4, (16,), device="cuda"))
    loss = loss + rnn(x.flatten(1)[:, :128].reshape(16, 16, 8))[0].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        host = loss.detach().to("cpu", non_blocking=True)
        loss.record_stream(side)
    side.synchronize()
    return host.item()


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


for _ in range(40):
    one_step()
gc.collect()
torch.cuda.synchronize()
before = (torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), resident_bytes())
objects = len(gc.get_objects())
for _ in range(200):
    one_step()
gc.collect()
torch.cuda.synchronize()
after = (torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), resident_bytes())
assert after[0] == before[0] and after[1] == before[1], (before, after)
assert after[2] - before[2] < 8 * MiB, (before, after)
assert len(gc.get_objects()) - objects < 100
if "growth" not in sys.argv:
    del model, rnn, optimizer
    torch.cuda.empty_cache()
    size, tries = batch_size_finder()
    assert 0 < size < 1 << 18 and tries >= 0
