"""In which thread a backward pass runs: Python sees the device's, as on a GPU; a pass without any
Python in it stays in the calling thread, which nobody can see but the scheduler."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from test_surface import emulated


def device_thread_runs() -> int:
    """Return how often the scheduler has run the autograd engine's threads."""
    runs = 0
    for task in Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().startswith("pt_autograd"):
            runs += int((task / "schedstat").read_text().split()[2])
    return runs


def wakes_device_thread(call: Callable[[], Any]) -> bool:
    before = -1
    while before != (before := device_thread_runs()):  # until they sleep
        time.sleep(0.05)
    call()
    return device_thread_runs() != before


@emulated
def test_a_pass_without_python_stays_in_the_thread() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3)).cuda()
    features, labels = torch.randn(5, 4, device="cuda"), torch.tensor([0, 1, 2, 0, 1]).cuda()

    def step() -> None:
        nn.functional.cross_entropy(model(features), labels).backward()

    x = torch.ones(3, device="cuda", requires_grad=True)
    x.register_hook(lambda grad: grad)
    x.sum().backward()  # starts the engine's threads, and wakes one
    assert not wakes_device_thread(step)
    assert wakes_device_thread(lambda: x.sum().backward())
    assert not wakes_device_thread(step)
    assert torch.autograd.is_multithreading_enabled()


@emulated
def test_python_in_a_pass_runs_in_the_device_s_thread() -> None:
    import torch

    threads: list[int] = []

    def note(value: Any) -> Any:
        threads.append(threading.get_ident())
        return value

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return note(grad) * 2

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            note(None)
            return func(*args, **(kwargs or {}))

    x = torch.ones(3, device="cuda", requires_grad=True)
    passes: list[Callable[[], Any]] = [lambda: Double.apply(x).sum().backward()]

    def hooked(register: str, tensor: Callable[[], torch.Tensor]) -> None:
        handle = getattr(tensor(), register)(note)
        (x * 2).sum().backward()
        handle.remove()

    passes.append(lambda: hooked("register_hook", lambda: x))
    passes.append(lambda: hooked("register_post_accumulate_grad_hook", lambda: x))

    def hook_of_node() -> None:
        y = (x * 2).sum()
        y.grad_fn.register_hook(lambda *grads: note(None))
        y.backward()

    def hook_before_node() -> None:
        y = (x * 2).sum()
        y.grad_fn.register_prehook(lambda *grads: note(None))
        torch.autograd.grad(y, x)

    def inner_hook() -> None:
        y = x * 2
        y.register_hook(note)
        torch.autograd.grad(y.sum(), x)

    def in_mode() -> None:
        y = (x * 2).sum()
        with Watch():
            threads.clear()
            y.backward()

    def saved() -> None:  # the last: afterwards every pass runs there
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, note):
            y = (x * x).sum()
        y.backward()

    for run in [*passes, hook_of_node, hook_before_node, inner_hook, in_mode, saved]:
        threads.clear()
        run()
        assert threads, run
        if run is in_mode:
            continue  # modes of the calling thread hold in the device's; some calls come from here
        assert threading.get_ident() not in threads, run


@emulated
def test_a_pass_in_the_thread_is_the_same_pass() -> None:
    import pytest
    import torch

    x = torch.arange(3.0, device="cuda", requires_grad=True)
    y = (x**3).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first.tolist() == [0, 3, 12] and second.tolist() == [0, 6, 12]
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [0, 6, 24]
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(1, device="cuda").backward()
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar"):
        (x * 2).backward()
    assert torch.autograd.is_multithreading_enabled()

    a = torch.ones(2, device="cuda:0", requires_grad=True)
    ((a * 2).to("cuda:1") * 3).sum().backward()  # two devices
    assert a.grad is not None and a.grad.tolist() == [6, 6] and a.grad.device.index == 0
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        b = (a * a).sum()
    b.backward()
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    assert a.grad.tolist() == [8, 8]
