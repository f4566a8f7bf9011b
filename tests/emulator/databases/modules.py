"""`module_db`: every module of `torch.nn`, training and evaluating, on the emulated GPU and with
the same parameters on the host: results, gradients and buffers must be the same."""

from __future__ import annotations

import time
from typing import Any

import torch
from comparing import HostCopies, as_leaves, assert_alike, gradients, is_random, on_device, tensors
from options import Options
from outcomes import Outcome
from torch.testing._internal.common_modules import module_db


def cases() -> dict[str, Any]:
    """Return the modules by name."""
    return {info.name: info for info in module_db}


def run(case: str, info: Any, options: Options) -> Outcome:
    """Run one module."""
    outcome, start = Outcome(case), time.perf_counter()
    for dtype in (torch.float32, torch.float64):
        if options.dtypes and str(dtype).removeprefix("torch.") not in options.dtypes:
            continue
        for training in (True, False):
            torch.manual_seed(0)
            inputs = info.module_inputs_func(
                info, device="cuda", dtype=dtype, requires_grad=True, training=training
            )
            for index, given in enumerate(inputs):
                if given.forward_input is None or index >= options.samples:
                    continue
                try:
                    _run_sample(info, given, dtype, training, options, outcome)
                except Exception as error:
                    outcome.fail(dtype, index, error)
    return outcome.close(time.perf_counter() - start)


def _run_sample(
    info: Any, given: Any, dtype: torch.dtype, training: bool, options: Options, outcome: Outcome
) -> None:
    made = (given.constructor_input.args, given.constructor_input.kwargs)
    used = as_leaves((given.forward_input.args, given.forward_input.kwargs))
    host_made, host_used = HostCopies()((made, used))
    torch.manual_seed(1)
    try:
        on_host = info.module_cls(*host_made[0], **host_made[1]).to(dtype).train(training)
        if info.is_lazy:
            on_host(*host_used[0], **host_used[1])
        state = {name: value.clone() for name, value in on_host.state_dict().items()}
        torch.manual_seed(2)
        wanted = on_host(*host_used[0], **host_used[1])
    except Exception:
        outcome.left_out += 1
        return
    module = info.module_cls(*made[0], **made[1]).to("cuda", dtype).train(training)
    if info.is_lazy:
        module(*used[0], **used[1])
    module.load_state_dict(state)
    torch.manual_seed(2)
    found = module(*used[0], **used[1])
    assert all(on_device(found)), "a result is not on the emulated GPU"
    tolerance = options.tolerance(info.name, dtype) or (1e-4, 1e-4)
    try:
        assert_alike(found, wanted, tolerance, True)
    except AssertionError:
        if not is_random(lambda: on_host(*host_used[0], **host_used[1]), wanted):
            raise
        outcome.random += 1
        assert_alike(found, wanted, tolerance, False)
    else:
        one = gradients(found, [*module.parameters(), *tensors(used)])
        other = gradients(wanted, [*on_host.parameters(), *tensors(host_used)])
        assert_alike(one, other, (1e-3, 1e-3), True)
        assert_alike(list(module.buffers()), list(on_host.buffers()), tolerance, True)
        outcome.backward += bool(other)
    outcome.passed += 1
