"""Threads of large conversions, and the level of vector instructions, as Python sees them."""

from __future__ import annotations

import os
import subprocess
import sys

import ashore
import numpy as np
import pytest
from ashore import _core
from processes import run_python


def test_the_number_of_threads_can_be_set() -> None:
    before = ashore.get_num_threads()
    assert 1 <= before <= len(os.sched_getaffinity(0))
    try:
        for count in (1, 3, 8):
            ashore.set_num_threads(count)
            assert ashore.get_num_threads() == count
            values = np.arange(3_000_000, dtype=np.float32)
            assert np.array_equal(ashore.to_numpy(values, dtype="float64"), values)
    finally:
        ashore.set_num_threads(before)


@pytest.mark.parametrize("count", [0, -3, 5000])
def test_a_number_that_is_none_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match="number of threads must be from 1 to 1024, not"):
        ashore.set_num_threads(count)


def run(variables: dict[str, str], program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_openmp_s_number_is_a_limit() -> None:
    done = run({"OMP_NUM_THREADS": "1"}, "import ashore; print(ashore.get_num_threads())")
    assert done.stdout.strip() == "1", done.stderr


def test_a_level_can_be_forced() -> None:
    program = "from ashore import _core; print(_core.simd_level())"
    assert run({"ASHORE_SIMD": "baseline"}, program).stdout.strip() == "baseline"
    assert run({"ASHORE_SIMD": ""}, program).stdout.strip() == _core.simd_level()


def test_an_unknown_level_fails_in_one_line() -> None:
    done = run({"ASHORE_SIMD": "sse9"}, "import ashore; ashore.to_numpy(1)")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "ASHORE_SIMD=sse9" in last and "baseline" in last


def test_p1_a_forked_child_converts_large_arrays_with_threads_of_its_own() -> None:
    run_python(
        """
        import os
        import numpy as np, ashore
        ashore.set_num_threads(3)
        values = np.arange(4_000_000, dtype=np.float32)
        assert ashore.to_numpy(values, dtype="float64")[-1] == 3_999_999
        for _ in range(3):
            child = os.fork()
            if child == 0:
                wide = ashore.to_numpy(values, dtype="float64")
                os._exit(0 if np.array_equal(wide, values) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """,
        warnings="default",
    )
