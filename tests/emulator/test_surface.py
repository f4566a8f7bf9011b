"""Devices, their properties, and what else torch.cuda and torch.backends tell; and `emulated`, the
decorator of all tests of the Python surface: one process with two emulated devices runs them."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

CHILD = """
import importlib.util, json, os, sys, traceback, warnings
import ashore.emulate
ashore.emulate.start(devices=2, memory="256MiB")
import torch
warnings.simplefilter("error")
sys.path[:0] = json.loads(sys.argv[2])
answers, modules = os.fdopen(int(sys.argv[1]), "w", buffering=1), {}
for line in sys.stdin:
    path, name = json.loads(line)
    try:
        torch.cuda.set_device(0)
        torch.cuda.set_stream(torch.cuda.default_stream())
        if path not in modules:
            spec = importlib.util.spec_from_file_location(f"case{len(modules)}", path)
            modules[path] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(modules[path])
        getattr(modules[path], name).__wrapped__()
        answer = None
    except BaseException:
        answer = traceback.format_exc()
    print(json.dumps(answer), file=answers)
"""


@functools.cache
def _child() -> tuple[Any, Any]:
    """Start the process that has the devices; it ends when this one closes its standard input."""
    mine, theirs = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-c", CHILD, str(theirs), json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        text=True,
        pass_fds=[theirs],
    )
    os.close(theirs)
    answers = os.fdopen(mine)

    def end() -> None:
        with contextlib.suppress(BrokenPipeError):  # it may have died
            process.stdin.close()
        process.wait(timeout=60)
        answers.close()

    atexit.register(end)
    return process, answers


def emulated(test: Callable[[], None]) -> Callable[[], None]:
    """Run a test without arguments in the process that has two emulated devices."""

    @functools.wraps(test)
    def run() -> None:
        process, answers = _child()
        process.stdin.write(json.dumps([test.__code__.co_filename, test.__name__]) + "\n")
        process.stdin.flush()
        line = answers.readline()
        if not line:
            _child.cache_clear()
            pytest.fail(f"the process with the devices ended with {process.wait(60)}")
        failure = json.loads(line)
        if failure is not None:
            pytest.fail(failure, pytrace=False)

    return run


@emulated
def test_devices_are_there() -> None:
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 2
    assert torch.backends.cuda.is_built()
    assert torch.version.cuda == "13.0"
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.device_count() == 2


@emulated
def test_current_device_follows_contexts_and_tensors() -> None:
    assert torch.cuda.current_device() == 0
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1
        assert torch.ones(1, device="cuda").device.index == 1
    assert torch.cuda.current_device() == 0
    with torch.cuda.device_of(torch.ones(1, device="cuda:1")):
        assert torch.cuda.current_device() == 1
    with torch.cuda.device(-1), torch.cuda.device(None):
        assert torch.cuda.current_device() == 0
    torch.cuda.set_device("cuda:1")
    assert torch.cuda.current_device() == 1
    assert torch.ones(1).cuda().device.index == 1
    with torch.device("cuda:0"):
        assert torch.ones(1).get_device() == 0
    torch.accelerator.set_device_index(0)
    assert torch.cuda.current_device() == 0


@emulated
def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(torch.AcceleratorError, match="CUDA error: invalid device ordinal"):
        torch.cuda.set_device(2)
    with pytest.raises(torch.AcceleratorError, match="CUDA error: invalid device ordinal"):
        torch.ones(1, device="cuda:7")
    for index in (128, 200, 999):  # PyTorch keeps eight bits of it
        with pytest.raises(torch.AcceleratorError, match="CUDA error: invalid device ordinal"):
            torch.zeros(2, device=f"cuda:{index}")
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.get_device_properties(2)
    with pytest.raises(RuntimeError, match="invalid argument to setDevice"):
        torch._C._cuda_setDevice("0")
    assert torch._C._cuda_exchangeDevice(-1) == -1
    assert torch._C._cuda_maybeExchangeDevice(1) == 0
    assert torch._C._cuda_exchangeDevice(0) == 1


@emulated
def test_properties() -> None:
    properties = torch.cuda.get_device_properties(1)
    assert isinstance(properties, torch.cuda._CudaDeviceProperties)
    assert properties is torch.cuda.get_device_properties("cuda:1")
    assert properties.name == torch.cuda.get_device_name(1) == "Emulated GPU"
    assert properties.total_memory == 256 << 20
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability(1) == (9, 0)
    for attribute in (
        "L2_cache_size clock_rate gcnArchName is_integrated is_multi_gpu_board "
        "max_threads_per_block max_threads_per_multi_processor memory_bus_width "
        "memory_clock_rate multi_processor_count pci_bus_id pci_device_id pci_domain_id "
        "regs_per_multiprocessor shared_memory_per_block shared_memory_per_block_optin "
        "shared_memory_per_multiprocessor uuid warp_size"
    ).split():
        getattr(properties, attribute)
    assert repr(properties) == (
        "_CudaDeviceProperties(name='Emulated GPU', major=9, minor=0, total_memory=256MB, "
        "multi_processor_count=132, uuid=6173686f-7265-0000-0000-000000000001, pci_bus_id=2, "
        "pci_device_id=0, pci_domain_id=0, L2_cache_size=50MB)"
    )
    assert len(properties.uuid.bytes) == 16
    assert str(properties.uuid) != str(torch.cuda.get_device_properties(0).uuid)
    with pytest.raises(AttributeError):
        properties.major = 3
    with pytest.raises(TypeError):
        type(properties)()


@emulated
def test_what_the_build_can_do() -> None:
    assert "sm_90" in torch.cuda.get_arch_list()
    assert "compute_90" not in torch.cuda.get_gencode_flags() or torch.cuda.get_gencode_flags()
    assert torch.cuda.is_bf16_supported()
    assert torch.cuda.is_tf32_supported()
    assert torch.cuda.has_half
    assert torch.cuda.has_magma
    assert torch.cuda.can_device_access_peer(0, 1)
    assert not torch.cuda.can_device_access_peer(1, 1)
    with pytest.raises(AssertionError, match="Invalid peer device id"):
        torch.cuda.can_device_access_peer(0, 5)
    assert torch._C._cuda_getCompiledVersion() == 13000
    torch.cuda.synchronize()
    torch.cuda.synchronize(1)
    torch.accelerator.synchronize()
    torch.cuda.ipc_collect()
    torch.cuda._sleep(10)
    assert torch.cuda.current_blas_handle() != 0
    assert torch.cuda.current_solver_handle() != 0


@emulated
def test_cudnn_and_its_switches() -> None:
    cudnn = torch.backends.cudnn
    assert cudnn.is_available()
    assert cudnn.version() > 90000
    assert not cudnn.is_acceptable(torch.ones(1, device="cuda"))
    with cudnn.flags(enabled=True, benchmark=True, benchmark_limit=4, deterministic=True):
        assert cudnn.benchmark and cudnn.benchmark_limit == 4 and cudnn.deterministic
    assert not cudnn.benchmark and cudnn.benchmark_limit == 10
    assert cudnn.allow_tf32 in (True, False)
    assert int(torch._C._cudnn.RNNMode.gru) == 3


@emulated
def test_cublas_and_linear_algebra_switches() -> None:
    matmul = torch.backends.cuda.matmul
    before = matmul.allow_tf32
    matmul.allow_tf32 = True
    assert torch.get_float32_matmul_precision() == "high"
    matmul.allow_tf32 = before
    matmul.allow_fp16_reduced_precision_reduction = False
    matmul.allow_bf16_reduced_precision_reduction = False
    matmul.allow_fp16_reduced_precision_reduction = True
    matmul.allow_bf16_reduced_precision_reduction = True
    for library in ("cusolver", "magma", "default"):
        torch.backends.cuda.preferred_linalg_library(library)
    for library in ("cublas", "cublaslt", "default"):
        torch.backends.cuda.preferred_blas_library(library)
    cache = torch.backends.cuda.cufft_plan_cache
    assert cache[1].size == 0
    assert cache.max_size > 0
    cache.clear()
    assert isinstance(torch.backends.cuda.is_flash_attention_available(), bool)
    size = torch._C._cuda_getCublasWorkspaceSize()
    torch._C._cuda_setCublasWorkspaceSize(1024)
    assert torch._C._cuda_getCublasWorkspaceSize() == 1024
    torch._C._cuda_resetCublasWorkspaceSize()
    assert torch._C._cuda_getCublasWorkspaceSize() == size


@emulated
def test_synchronisation_debug_mode() -> None:
    assert torch.cuda.get_sync_debug_mode() == 0
    with pytest.warns(UserWarning, match="prototype feature"):
        torch.cuda.set_sync_debug_mode("warn")
    try:
        assert torch.cuda.get_sync_debug_mode() == 1
        x = torch.ones(1, device="cuda")
        with pytest.warns(UserWarning, match="called a synchronizing CUDA operation"):
            x.item()
        torch.cuda.set_sync_debug_mode(2)
        with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"):
            x.item()
        assert torch.equal(x, x) and not torch.equal(x, x[:0])  # nothing to compare
        with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"):
            torch.equal(x, torch.ones_like(x))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    with pytest.raises(RuntimeError, match="invalid value of debug_mode, expected one of"):
        torch.cuda.set_sync_debug_mode(3)


@emulated
def test_the_runtime_module() -> None:
    cudart = torch.cuda.cudart()
    import torch._C._cudart as same

    assert same is cudart
    assert cudart.cudaProfilerStart() == cudart.cudaError.success
    torch.cuda.check_error(cudart.cudaProfilerStop())
    with pytest.raises(torch.cuda.CudaError, match=r"out of memory \(2\)"):
        torch.cuda.check_error(cudart.cudaError(2))
    with torch.cuda.profiler.profile():
        pass
    host = torch.zeros(1 << 16)
    size = host.numel() * host.element_size()
    torch.cuda.check_error(cudart.cudaHostRegister(host.data_ptr(), size, 0))
    torch.cuda.check_error(cudart.cudaHostUnregister(host.data_ptr()))
    free, total = cudart.cudaMemGetInfo(1)
    assert 0 < free <= total == 256 << 20


@emulated
def test_nvtx_ranges_do_nothing() -> None:
    with torch.cuda.nvtx.range("step {}", 3):
        torch.cuda.nvtx.mark("here")
    torch.cuda.nvtx.range_push("a")
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("b"))


@emulated
def test_tunable_operations_keep_their_settings() -> None:
    tunable = torch.cuda.tunable
    assert not tunable.is_enabled()
    tunable.enable(True)
    assert tunable.is_enabled()
    tunable.enable(False)
    tunable.set_max_tuning_iterations(7)
    assert tunable.get_max_tuning_iterations() == 7
    assert tunable.get_results() == ()
    tunable.set_filename("results.csv")
    assert tunable.get_filename() == "results.csv"


@emulated
def test_every_name_of_the_cuda_build_that_python_code_uses_is_there() -> None:
    import ast
    from pathlib import Path

    left_out = {
        "_cuda_getHipblasltVersion",  # AMD
        "_CUDAGreenContext",  # PyTorch itself says where it is not supported
    }
    used = set()
    for folder in ("cuda", "backends", "nn", "amp", "multiprocessing", "accelerator", "utils"):
        for path in (Path(torch.__file__).parent / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute):
                    text = ast.unparse(node)
                    if text.startswith("torch._C.") and text.count(".") == 2:
                        used.add(node.attr)
    prefixes = ("_cuda_", "_Cuda", "_CUDA", "_cudnn", "_cudart", "_nccl", "_gds")
    names = {name for name in used if name.startswith(prefixes)}
    assert len(names) > 50
    assert {name for name in names if not hasattr(torch._C, name)} <= left_out
