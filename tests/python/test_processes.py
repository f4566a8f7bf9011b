"""Contract P1, C2, D1, D2: threads, forks, start-up, and PyTorchs that lack what 2.13 has."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import ashore
import numpy as np
import pytest
import torch
from processes import run_python

HERE = Path(__file__).parent


def test_p1_many_threads_on_the_same_and_on_different_tensors() -> None:
    shared = torch.arange(100_000.0)
    half = shared.remainder(200).bfloat16()
    box = {"a": [shared, half], "b": np.arange(1000)}
    failures: list[Any] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def work(seed: int) -> None:
        try:
            for i in range(40):
                own = torch.full((50_000,), float(seed))
                assert ashore.to_numpy(own)[-1] == seed
                assert ashore.to_numpy(own, dtype="int16")[-1] == seed
                assert ashore.to_numpy(shared, dtype="float64")[99_999] == 99_999
                assert ashore.to_numpy(half, dtype="float32")[i] == i
                assert ashore.to_numpy(box, copy=True)["a"][0][i] == i
                assert ashore.to_torch(np.full(3, seed)).tolist() == [seed] * 3
                out = np.empty(100_000, np.float32)
                assert ashore.to_numpy(shared, out=out)[i] == i
                with pytest.raises(TypeError):
                    ashore.to_numpy([own, "x", np.array([None])])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    assert not failures


def test_p1_fork_of_a_process_with_threads_and_results() -> None:
    run_python(
        """
        import os, threading, time
        import numpy as np, torch, ashore

        tensor = torch.arange(200_000.0)
        kept = [ashore.to_numpy(tensor), ashore.to_torch(np.ones(1000))]
        stop = threading.Event()
        def busy():
            while not stop.is_set():
                ashore.to_numpy(tensor, dtype="float64")
        threads = [threading.Thread(target=busy, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        children = []
        for _ in range(5):
            time.sleep(0.02)
            child = os.fork()
            if child == 0:
                wide = ashore.to_numpy(tensor, dtype="float64")
                good = wide.sum() == 200_000 * 199_999 / 2 and kept[0][7] == 7
                good &= ashore.to_torch(wide)[9] == 9 and ashore.to_numpy([tensor])[0][8] == 8
                kept.clear()
                os._exit(0 if good else 1)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        stop.set()
        for thread in threads:
            thread.join()
        assert codes == [0] * 5, codes
        """,
        warnings="default",
    )


def test_p1_import_touches_nothing_else() -> None:
    run_python("""
        import sys
        import ashore
        heavy = {"numpy", "torch", "jax", "ml_dtypes", "optree", "pandas", "ashore._core"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
        assert ashore.to_numpy([1, 2]).tolist() == [1, 2]
        loaded = {name.partition(".")[0] for name in sys.modules}
        assert not {"torch", "jax", "ml_dtypes", "optree", "pandas"} & loaded
        import numpy as np
        assert ashore.to_numpy({"x": np.ones(3)})["x"].sum() == 3
        assert not {"torch", "jax", "ml_dtypes"} & {n.partition(".")[0] for n in sys.modules}
        ashore.to_numpy(np.ones(2), dtype="bfloat16")
        assert "ml_dtypes" in sys.modules and "torch" not in sys.modules
        assert ashore.to_torch(np.ones(2)).tolist() == [1, 1]
    """)


def test_p1_a_torch_that_is_being_imported_or_is_none() -> None:
    run_python("""
        import sys, threading, types
        import numpy as np, ashore

        for fake in (types.ModuleType("torch"), types.SimpleNamespace(), None, 3):
            sys.modules["torch"] = fake
            assert ashore.to_numpy(np.ones(2)).sum() == 2
            assert ashore.to_numpy([np.ones(2), "x"])[0].sum() == 2
            if fake is not None:
                try:
                    ashore.to_torch(np.ones(2))
                except RuntimeError as error:
                    assert "PyTorch" in str(error)
        del sys.modules["torch"]
        failures = []
        def load():
            import torch
        thread = threading.Thread(target=load)
        thread.start()
        while thread.is_alive():
            assert ashore.to_numpy({"x": np.ones(3)})["x"].sum() == 3
        thread.join()
        import torch
        assert ashore.to_numpy(torch.ones(2)).tolist() == [1, 1]
    """)


def test_d2_without_ml_dtypes() -> None:
    run_python("""
        import sys
        sys.modules["ml_dtypes"] = None
        import numpy as np, torch, ashore
        half = torch.ones(2).bfloat16()
        for call in (
            lambda: ashore.to_numpy(half),
            lambda: ashore.to_numpy([half], copy=True),
            lambda: ashore.to_numpy(np.ones(2), dtype="bfloat16"),
            lambda: ashore.to_numpy(torch.ones(2).to(torch.float8_e5m2)),
        ):
            try:
                call()
            except TypeError as error:
                assert "ml_dtypes" in str(error) and "dtype=" in str(error)
                assert "\\n" not in str(error)
            else:
                raise AssertionError
        assert ashore.to_numpy(half, dtype="float32").tolist() == [1, 1]
        assert ashore.to_torch(np.ones(2), dtype="bfloat16").dtype == torch.bfloat16
        assert ashore.to_torch(half, dtype="float64").tolist() == [1, 1]
    """)


NO_EXCHANGE = "del torch.Tensor.__dlpack_c_exchange_api__"
NO_FACTS = "torch.Tensor._cdata = property(lambda tensor: 0)"
OLDER = {"no exchange API": NO_EXCHANGE, "no native facts either": f"{NO_EXCHANGE};{NO_FACTS}"}


@pytest.mark.parametrize("older", list(OLDER))
def test_n2_the_same_tests_on_an_older_torch(older: str) -> None:
    """PyTorch before 2.10 has no exchange API, and another build may hide what ours shows: then
    everything goes the long way, with the same results."""
    files = ["test_tensors.py", "test_copy.py", "test_to_torch.py", "test_refusals.py"]
    program = """
        import sys
        import pytest, torch
        for line in sys.argv.pop(1).split(";"):
            exec(line)
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
    """
    paths = [str(HERE / name) for name in files]
    printed = run_python(program, OLDER[older], *paths, warnings="default")
    assert " passed" in printed and "failed" not in printed
