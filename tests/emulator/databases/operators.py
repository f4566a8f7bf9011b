"""`op_db`: every operator with all dtypes that the CPU and CUDA have in common, its samples made on
the emulated GPU; results and (float64) gradients must be the plain CPU's. Dtypes that only the CPU
has must be refused."""

from __future__ import annotations

import itertools
import time
from typing import Any

import torch
from comparing import (
    HostCopies,
    are_equal,
    as_leaves,
    assert_alike,
    device_copies,
    gradients,
    is_random,
    on_device,
    tensors,
)
from options import Options
from outcomes import Outcome
from torch.testing._internal.common_methods_invocations import op_db

UNINITIALISED = {
    *("empty", "empty_like", "new_empty", "new_empty_strided", "empty_strided", "empty_permuted")
}  # fmt: skip
HALVES = (torch.half, torch.bfloat16)


def cases() -> dict[str, Any]:
    """Return the operators by name and variant."""
    found: dict[str, Any] = {}
    for op in op_db:
        name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        found[name if name not in found else f"{name}#2"] = op
    return found


def run(case: str, op: Any, options: Options) -> Outcome:
    """Run one operator."""
    outcome, start = Outcome(case), time.perf_counter()
    common = op.dtypes & (op.dtypesIfCUDA or set())
    for dtype in sorted(common, key=str):
        if options.dtypes and str(dtype).removeprefix("torch.") not in options.dtypes:
            continue
        backward = dtype is torch.float64 and op.supports_autograd and not options.forward_only
        _run_dtype(op, case, dtype, backward, options, outcome)
    for dtype in sorted(op.dtypes - common, key=str):
        if not options.dtypes:
            _run_refused(op, dtype, outcome)
    return outcome.close(time.perf_counter() - start)


def _run_refused(op: Any, dtype: torch.dtype, outcome: Outcome) -> None:
    """See that one of a few samples is refused: CUDA's kernels let empty tensors pass."""
    computed = None
    try:
        samples = list(itertools.islice(op.sample_inputs("cpu", dtype), 4))
    except Exception:
        return
    for index, sample in enumerate(samples):
        arguments, named = device_copies(((sample.input, *sample.args), dict(sample.kwargs)))
        try:
            op.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:
            continue
        computed = index
        try:
            op.op(*arguments, **named)
        except (NotImplementedError, RuntimeError):
            outcome.refused += 1
            return
    if computed is not None:
        outcome.fail(dtype, computed, AssertionError("computed, and CUDA does not"))


def _run_dtype(
    op: Any, case: str, dtype: torch.dtype, backward: bool, options: Options, outcome: Outcome
) -> None:
    torch.manual_seed(0)
    try:
        samples = []
        for sample in op.sample_inputs("cuda", dtype, requires_grad=backward):
            samples.append(sample)
            if len(samples) == options.samples:
                break
    except Exception as error:
        try:
            list(op.sample_inputs("cpu", dtype, requires_grad=backward))
        except Exception:
            outcome.left_out += 1
        else:
            outcome.fail(dtype, -1, error)
        return
    tolerance = options.tolerance(case, dtype) or ((1e-3, 1e-3) if dtype in HALVES else (1e-5,) * 2)
    for index, sample in enumerate(samples):
        try:
            _run_sample(op, sample, tolerance, backward, outcome)
        except Exception as error:
            outcome.fail(dtype, index, error)


def _run_sample(
    op: Any, sample: Any, tolerance: tuple[float, float], backward: bool, outcome: Outcome
) -> None:
    arguments, named = as_leaves(((sample.input, *sample.args), dict(sample.kwargs)))
    host_arguments, host_named = HostCopies()((arguments, named))
    try:
        torch.manual_seed(0)
        wanted = op.op(*host_arguments, **host_named)
    except Exception:
        outcome.left_out += 1
        return

    def compute() -> Any:
        torch.manual_seed(0)
        return op.op(*arguments, **named)

    found = compute()
    is_bound = "device" not in named and any(on_device(arguments)) and op.name != "to"
    assert not is_bound or all(on_device(found)), "a result is not on the emulated GPU"
    values = op.name not in UNINITIALISED
    try:
        assert_alike(found, wanted, tolerance, values)
    except AssertionError:
        host_again = HostCopies()((arguments, named))
        if not is_random(lambda: op.op(*host_again[0], **host_again[1]), wanted):
            raise
        values = False
        outcome.random += 1
        assert_alike(found, wanted, tolerance, values)
        assert are_equal(compute(), found), "another result with the same seed"
    if backward and values:
        _run_backward(
            (found, tensors((arguments, named))),
            (wanted, tensors((host_arguments, host_named))),
            outcome,
        )
    outcome.passed += 1


def _run_backward(found: tuple[Any, Any], wanted: tuple[Any, Any], outcome: Outcome) -> None:
    try:
        wanted_gradients = gradients(*wanted)
    except Exception:
        outcome.left_out += 1
        return
    found_gradients = gradients(*found)
    assert [one is None for one in found_gradients] == [one is None for one in wanted_gradients], (
        "other inputs have a gradient"
    )
    assert_alike(found_gradients, wanted_gradients, (1e-5, 1e-5), True)
    outcome.backward += bool(wanted_gradients)
