"""Memory functions of torch.cuda, storages on the device, and pinned memory."""

from __future__ import annotations

import re
from itertools import product

import pytest
from test_surface import emulated

torch = pytest.importorskip("torch")

MIB = 1 << 20


def documented_keys() -> set[str]:
    """Return what the docstring of torch.cuda.memory_stats promises."""
    keys = set()
    for text in re.findall(r'``"([^"]+)"``', torch.cuda.memory_stats.__doc__):
        parts = [
            part[1:-1].split(",") if part.startswith("{") else [part]
            for part in re.findall(r"\{[^}]*\}|[^{}]+", text)
        ]
        keys |= {"".join(combination) for combination in product(*parts)}
    # The docstring calls "allocated" what the dictionary has always called "allocation".
    keys = {re.sub(r"^allocated\.", "allocation.", key) for key in keys}
    return keys - {
        "reserved_bytes_by_private_pools",  # an empty dict where there are no private pools
        "_",  # an example in the text
        "0_1",
    }


@emulated
def test_statistics_have_all_documented_keys() -> None:
    torch.cuda.init()
    stats = torch.cuda.memory_stats(1)
    keys = documented_keys()
    assert len(keys) > 100
    assert keys - set(stats) == set()
    assert set(stats) - keys <= {"max_split_size"}
    assert all(isinstance(value, int) for value in stats.values())
    nested = torch.cuda.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"].keys() == {"current", "peak", "allocated", "freed"}
    assert nested["reserved_bytes_by_private_pools"] == {}


@emulated
def test_memory_is_counted() -> None:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.reset_accumulated_memory_stats()
    before = torch.cuda.memory_allocated()
    x = torch.empty(8 * MIB, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() == before + 8 * MIB
    assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()
    del x
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() == before + 8 * MIB
    assert torch.cuda.max_memory_reserved() >= 8 * MIB
    stats = torch.cuda.memory_stats()
    assert stats["allocated_bytes.all.allocated"] == 8 * MIB
    assert stats["allocated_bytes.all.freed"] == 8 * MIB
    assert stats["allocation.large_pool.allocated"] == 1
    reserved = torch.cuda.memory_reserved()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < reserved
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == before
    torch.accelerator.reset_peak_memory_stats()


@emulated
def test_memory_summary_and_listing() -> None:
    summary = torch.cuda.memory_summary()
    assert "PyTorch CUDA memory summary, device ID 0" in summary
    assert "Non-releasable allocs" in torch.cuda.memory_summary(1)
    assert "from large pool" not in torch.cuda.memory_summary(abbreviated=True)
    assert isinstance(torch.cuda.list_gpu_processes(), str)
    assert torch.cuda.get_allocator_backend() == "native"


@emulated
def test_memory_of_the_whole_device() -> None:
    free, total = torch.cuda.mem_get_info("cuda:1")
    assert total == 256 * MIB
    x = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda:1")
    assert free - torch.cuda.mem_get_info(1)[0] >= 64 * MIB - 20 * MIB
    del x
    assert torch.cuda.mem_get_info()[1] == total


@emulated
def test_too_much_is_out_of_memory() -> None:
    ooms = torch.cuda.memory_stats()["num_ooms"]
    with pytest.raises(torch.OutOfMemoryError, match=r"^CUDA out of memory"):
        torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_stats()["num_ooms"] == ooms + 1
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError


@emulated
def test_a_fraction_limits_the_process() -> None:
    assert torch.cuda.get_per_process_memory_fraction() == 1.0
    torch.cuda.set_per_process_memory_fraction(0.25)
    try:
        assert torch.cuda.get_per_process_memory_fraction() == 0.25
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(100 * MIB, dtype=torch.uint8, device="cuda")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    with pytest.raises(ValueError, match="Invalid fraction value: 2"):
        torch.cuda.set_per_process_memory_fraction(2.0)
    with pytest.raises(TypeError, match="must be `float`"):
        torch.cuda.set_per_process_memory_fraction(1)
    with pytest.raises(RuntimeError, match="invalid fraction"):
        torch._C._cuda_setMemoryFraction(-1.0, 0)


@emulated
def test_raw_allocations() -> None:
    before = torch.cuda.memory_allocated(1)
    address = torch.cuda.caching_allocator_alloc(1000, device=1)
    assert address != 0
    assert torch.cuda.memory_allocated(1) == before + 1024
    torch.cuda.caching_allocator_delete(address)
    assert torch.cuda.memory_allocated(1) == before
    torch.cuda.caching_allocator_delete(
        torch.cuda.caching_allocator_alloc(10, stream=torch.cuda.Stream())
    )
    with pytest.raises(TypeError):
        torch._C._cuda_cudaCachingAllocator_raw_alloc("much", 0)
    torch.cuda.caching_allocator_enable(False)
    torch.cuda.caching_allocator_enable(True)


@emulated
def test_pinned_memory_is_counted() -> None:
    torch.cuda.init()
    x = torch.zeros(1000).pin_memory()
    assert x.is_pinned()
    stats = torch.cuda.host_memory_stats()
    for key in (
        "num_host_alloc num_host_free allocations.current allocated_bytes.peak "
        "active_requests.allocated active_bytes.freed host_alloc_time.total host_alloc_time.avg "
        "host_free_time.count"
    ).split():
        assert key in stats
    torch.cuda.reset_peak_host_memory_stats()
    torch.cuda.reset_accumulated_host_memory_stats()
    torch._C._host_emptyCache()
    assert torch.cuda.memory._host_allocator() != 0


@emulated
def test_snapshots_and_history_are_accepted() -> None:
    torch.cuda.memory._record_memory_history()
    assert torch._C._cuda_isHistoryEnabled()
    torch.cuda.memory._record_memory_history(None)
    assert not torch._C._cuda_isHistoryEnabled()
    torch.cuda.memory._record_memory_history(True)
    torch.cuda.memory._record_memory_history(False)
    with pytest.raises(RuntimeError, match="expected state to be 'state', 'all', or None"):
        torch.cuda.memory._record_memory_history("some")
    snapshot = torch.cuda.memory._snapshot()
    assert isinstance(snapshot["segments"], list)
    assert len(snapshot["device_traces"]) == 2
    assert isinstance(torch.cuda.memory_snapshot(), list)
    torch.cuda.memory._set_memory_metadata("phase 1")
    assert torch.cuda.memory._get_memory_metadata() == "phase 1"
    assert torch.cuda.memory._allocation_traceback(0) is None


@emulated
def test_pools_have_numbers_and_users() -> None:
    pool = torch.cuda.MemPool()
    other = torch.cuda.MemPool()
    assert pool.id != other.id
    assert pool.use_count() == 1
    with torch.cuda.use_mem_pool(pool):
        assert pool.use_count() == 2
        torch.ones(3, device="cuda")
    assert pool.use_count() == 1
    assert pool.allocator is None
    assert isinstance(pool.snapshot(), list)


@emulated
def test_storages_on_the_device() -> None:
    made = torch.UntypedStorage(8, device="cuda:1")
    assert made.device == torch.device("cuda:1") and made.nbytes() == 8
    assert torch.UntypedStorage(device="cuda").nbytes() == 0
    assert torch.UntypedStorage([1, 2, 3], device="cuda").tolist() == [1, 2, 3]
    assert torch.UntypedStorage(4).device.type == "cpu"
    assert torch.UntypedStorage([7]).tolist() == [7]

    x = torch.arange(4.0, device="cuda")
    there = x.untyped_storage()
    assert there.is_cuda and there.get_device() == 0
    host = there.cpu()
    assert host.device.type == "cpu" and host.tolist() == there.tolist()
    assert host.cuda(1).device == torch.device("cuda:1")
    assert there.clone().tolist() == there.tolist()


@emulated
def test_storages_are_resized() -> None:
    x = torch.arange(4.0, device="cuda")
    there = x.untyped_storage()
    there.resize_(32)
    assert there.nbytes() == 32 and x.tolist() == [0, 1, 2, 3]
    there.resize_(0)
    assert there.nbytes() == 0
    there.resize_(16)
    x.zero_()
    assert x.sum().item() == 0
    host = torch.arange(2.0).untyped_storage()
    assert host.resize_(16).nbytes() == 16


@emulated
def test_saving_and_loading_keeps_devices_and_sharing() -> None:
    import io

    x = torch.arange(6.0, device="cuda:1")
    file = io.BytesIO()
    torch.save({"all": x, "part": x[2:4]}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["all"].device == torch.device("cuda:1")
    loaded["part"].zero_()
    assert loaded["all"].tolist() == [0, 1, 0, 0, 4, 5]
    for where in ("cpu", "cuda:0"):
        file.seek(0)
        assert torch.load(file, map_location=where)["all"].device == torch.device(where)
