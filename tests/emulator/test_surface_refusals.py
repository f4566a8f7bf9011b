"""What is not emulated says so, in one line that names it."""

from __future__ import annotations

import pytest
from test_surface import emulated

torch = pytest.importorskip("torch")


@emulated
def test_graphs() -> None:
    assert not torch.cuda.is_current_stream_capturing()
    assert torch.cuda.graph_pool_handle() != torch.cuda.graph_pool_handle()
    with pytest.raises(NotImplementedError, match=r"^CUDA graphs are not emulated"):
        torch.cuda.CUDAGraph()
    with pytest.raises(NotImplementedError, match=r"^CUDA graphs are not emulated"):
        torch.cuda.make_graphed_callables(
            torch.nn.Linear(2, 2).cuda(), (torch.ones(1, 2, device="cuda"),)
        )


@emulated
def test_compiling_cuda_code() -> None:
    add_one = torch.cuda.jiterator._create_jit_fn(
        "template <typename T> T add_one(T x) { return x + 1; }"
    )
    with pytest.raises(NotImplementedError, match="jiterator"):
        add_one(torch.ones(1, device="cuda"))


@emulated
def test_nccl() -> None:
    with pytest.raises(NotImplementedError, match=r"NCCL .*gloo.* is not emulated"):
        torch.cuda.nccl.version()
    assert not torch.cuda.nccl.is_available([torch.ones(1, device="cuda")])


@emulated
def test_allocators_of_ones_own() -> None:
    allocator = torch.cuda.memory._get_current_allocator()
    with pytest.raises(NotImplementedError, match="an allocator of one's own is not emulated"):
        torch.cuda.memory.change_current_allocator(allocator)
    with pytest.raises(NotImplementedError, match="memory pool with its own allocator"):
        torch.cuda.MemPool(allocator.allocator())


@emulated
def test_direct_storage() -> None:
    with pytest.raises(NotImplementedError, match="GPUDirect Storage is not emulated"):
        torch.cuda.gds.gds_register_buffer(torch.ones(1, device="cuda").untyped_storage())


@emulated
def test_sharing_between_processes() -> None:
    import io
    from multiprocessing.reduction import ForkingPickler

    import torch.multiprocessing  # registers how tensors are sent

    x = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="does not share CUDA tensors between processes"):
        ForkingPickler(io.BytesIO()).dump(x)
    with pytest.raises(RuntimeError, match="does not share"):
        x.untyped_storage()._share_cuda_()
    torch.ones(1).share_memory_()
