"""Contract C2, P1: shared memory outlives what is done to the tensor.

Each story runs in its own process.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("torch", reason="the stories are about tensors")

# Each ends with values checked after memory was churned; a crash or a wrong value fails the test.
SHARED = """
import gc, warnings
warnings.simplefilter("error")
import numpy as np, torch, ashore
def churn():
    gc.collect()
    for _ in range(10):
        torch.full((1 << 18,), -1.0)
def make(dtype):
    values = torch.arange(1 << 18).remainder(100).to(dtype)
    return values
"""

ATTACKS = {
    "resize_": "t.detach().resize_(1 << 22)",
    "set_": "t.detach().set_(torch.zeros(3, dtype=t.dtype))",
    "data": "t.data = torch.zeros(3, dtype=t.dtype)",
    "storage_resize": "t.untyped_storage().resize_(0)",
    "death": "del t",
}


def run(story: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHARED + textwrap.dedent(story)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr[-2000:]


@pytest.mark.parametrize("attack", list(ATTACKS.values()), ids=list(ATTACKS))
def test_c2_shared_array_survives(attack: str) -> None:
    run(f"""
        class Mine(torch.Tensor):
            pass
        def prepared(kind, dtype):
            t = make(dtype)
            if kind == "locked":
                t.view(torch.uint8).numpy()
            elif kind == "grad":
                t.requires_grad_()
            elif kind == "parameter":
                t = torch.nn.Parameter(t)
            elif kind == "subclass":
                t = t.as_subclass(Mine)
            return t
        def attack(kind, dtype):
            t = prepared(kind, dtype)
            array = ashore.to_numpy(t, copy=False)
            assert array.ctypes.data == t.data_ptr()
            again = ashore.to_numpy(t, copy=False)
            try:
                {attack}
            except (RuntimeError, ValueError):
                pass
            churn()
            for a in (array, again):
                assert np.array_equal(a.astype("float64"), make(dtype).double().numpy())
            del array
            churn()
            assert float(again[3]) == 3
        for dtype in (torch.float32, torch.bfloat16, torch.float8_e5m2, torch.int64):
            for kind in ("fresh", "locked", "grad", "parameter", "subclass"):
                if dtype != torch.int64 or kind not in ("grad", "parameter"):
                    attack(kind, dtype)
        print("ok")
    """)


@pytest.mark.parametrize(
    "setting",
    [
        "torch.inference_mode()",
        "torch.no_grad()",
        "torch.device('meta')",
        "torch._subclasses.fake_tensor.FakeTensorMode()",
        "torch._C._DisableFuncTorch()",
    ],
)
def test_c2_whatever_mode_is_on(setting: str) -> None:
    run(f"""
        import torch._subclasses.fake_tensor
        for dtype in (torch.float32, torch.bfloat16):
            fresh, locked = make(dtype), make(dtype)
            ashore.to_numpy(locked)
            with {setting}:
                for t in (fresh, locked, fresh):
                    a = ashore.to_numpy(t)
                    assert a.ctypes.data == t.data_ptr() and float(a[5]) == 5
                    assert float(ashore.to_numpy(t, copy=True)[5]) == 5
                    assert float(ashore.to_numpy(t, dtype="float64")[5]) == 5
        print("ok")
    """)


def test_c2_inside_function_transforms() -> None:
    run("""
        outside = make(torch.float32)
        def f(x):
            a = ashore.to_numpy(outside)
            assert a.ctypes.data == outside.data_ptr()
            for bad in (x, x * 2):
                try:
                    ashore.to_numpy(bad)
                except TypeError as error:
                    assert "grad" in str(error)
                else:
                    raise AssertionError
            return (x * float(a[3])).sum()
        assert torch.func.grad(f)(torch.ones(2)).tolist() == [3, 3]
        print("ok")
    """)


def test_c2_share_memory_is_the_documented_exception() -> None:
    """`share_memory_` swaps the memory inside PyTorch; the array keeps the old one."""
    run("""
        t = torch.zeros(4)
        own = ashore.to_numpy(t, copy=True)
        with_numpy = torch.zeros(4)
        n = with_numpy.numpy()
        with_numpy.share_memory_()
        assert n.ctypes.data != with_numpy.data_ptr()
        assert own.tolist() == [0, 0, 0, 0]
        print("ok")
    """)


def test_p1_fork_after_use() -> None:
    run("""
        import os, sys
        ashore.to_numpy([torch.zeros(3), torch.zeros(3).bfloat16()])
        child = os.fork()
        if child == 0:
            big = ashore.to_numpy(torch.ones(1 << 20), dtype="float64")
            ok = big.sum() == 1 << 20 and ashore.to_torch(big).sum() == 1 << 20
            os._exit(0 if ok else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print("ok")
    """)


def test_p1_threads_and_gc_at_any_moment() -> None:
    run("""
        import threading
        gc.set_threshold(1)
        tensors = [make(torch.float32) for _ in range(4)]
        def work():
            for i in range(300):
                t = tensors[i % 4]
                a, b = ashore.tensors_to_numpy(t, torch.full((3,), float(i)))
                assert float(a[7]) == 7 and b.tolist() == [i] * 3
                assert float(ashore.to_torch(a)[8]) == 8
                ashore.to_numpy({"x": [t, (t, 1)]}, dtype="float16")
        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print("ok")
    """)


def test_c2_alive_at_exit() -> None:
    run("""
        import atexit
        kept = [ashore.to_numpy(make(torch.float32)), ashore.to_torch(np.arange(5.0))]
        atexit.register(lambda: None)
        print("ok")
    """)


def test_c2_older_torch() -> None:
    """PyTorch before 2.10 has no exchange API: all goes the long way, with the same results."""
    run("""
        del torch.Tensor.__dlpack_c_exchange_api__
        for dtype in (torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.uint16, torch.bool):
            t = make(torch.float32).to(dtype)
            a = ashore.to_numpy(t)
            assert a.ctypes.data == t.data_ptr() and ashore.to_numpy(t, copy=False).dtype == a.dtype
            back = ashore.to_torch(a)
            assert back.dtype == dtype and back.data_ptr() == t.data_ptr()
            assert ashore.to_numpy(t.reshape(2, -1).t()).strides == tuple(
                s * t.element_size() for s in t.reshape(2, -1).t().stride())
            assert np.array_equal(ashore.to_numpy(t, dtype="float64"), t.double().numpy())
        x = torch.tensor([1 + 2j]).conj()
        assert ashore.to_numpy(x).tolist() == [1 - 2j] and ashore.to_numpy(x.imag).tolist() == [-2]
        assert ashore.to_torch(np.arange(6.0)[::-1]).tolist() == [5, 4, 3, 2, 1, 0]
        assert ashore.to_torch(np.zeros((0, 3))).shape == (0, 3)
        for bad in (torch.zeros(2, device="meta"), torch.eye(2).to_sparse()):
            try:
                ashore.to_numpy(bad)
            except TypeError:
                pass
            else:
                raise AssertionError
        print("ok")
    """)
