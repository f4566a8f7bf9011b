"""Run under `ashore run`: calls with values that CUDA asserts on the device, each in a forked child
of its own, for each breaks its device. Prints one JSON object per line."""

from __future__ import annotations

import json
import os
import sys
import tempfile

import torch
import torch.nn.functional as F


def on_gpu(*values: float) -> torch.Tensor:
    return torch.tensor(values, device="cuda")


def numbers(*shape: int) -> torch.Tensor:
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape).cuda()


CASES = {
    "index": lambda: numbers(5)[on_gpu(1, 7)],
    "index below": lambda: numbers(5)[on_gpu(-6)],
    "index_put": lambda: numbers(5).index_put_((on_gpu(1, 7),), numbers(2)),
    "index_put accumulate": lambda: numbers(5).index_put((on_gpu(7),), numbers(1), accumulate=True),
    "index_copy": lambda: numbers(5).index_copy(0, on_gpu(7), numbers(1)),
    "index_fill": lambda: numbers(5).index_fill(0, on_gpu(7), 1.0),
    "index_add": lambda: numbers(5).index_add(0, on_gpu(1, 7), numbers(2)),
    "index_select": lambda: numbers(5, 2).index_select(0, on_gpu(1, 7)),
    "gather": lambda: numbers(5).gather(0, on_gpu(1, 7)),
    "gather out": lambda: torch.gather(numbers(5), 0, on_gpu(1, 7), out=numbers(0)),
    "scatter": lambda: numbers(5).scatter(0, on_gpu(1, 7), numbers(2)),
    "scatter in place": lambda: numbers(5).scatter_(0, on_gpu(1, 7), 1.0),
    "scatter_add": lambda: numbers(5).scatter_add(0, on_gpu(1, 7), numbers(2)),
    "scatter_reduce": lambda: numbers(5).scatter_reduce(0, on_gpu(1, 7), numbers(2), "amax"),
    "take": lambda: numbers(5).take(on_gpu(1, 7)),
    "put": lambda: numbers(5).put(on_gpu(1, 7), numbers(2)),
    "embedding": lambda: F.embedding(on_gpu(1, 7), numbers(5, 2).requires_grad_()),
    "nll_loss": lambda: F.nll_loss(numbers(2, 3), on_gpu(1, 7)),
    "nll_loss2d": lambda: F.nll_loss(numbers(1, 3, 1, 2), on_gpu(1, 7).reshape(1, 1, 2)),
    "cross_entropy": lambda: F.cross_entropy(numbers(2, 3), on_gpu(1, -1)),
    "one_hot": lambda: F.one_hot(on_gpu(1, 7), 5),
    "binary_cross_entropy": lambda: F.binary_cross_entropy(numbers(2), on_gpu(0.0, 1.0)),
    "binary_cross_entropy target": lambda: F.binary_cross_entropy(on_gpu(0.5, 0.5), numbers(2)),
    "multinomial": lambda: torch.multinomial(-numbers(3), 1),
    "multinomial of nothing": lambda: torch.multinomial(numbers(3) * 0, 1),
    "bernoulli": lambda: torch.bernoulli(numbers(3)),
    "_assert_async": lambda: torch._assert_async(on_gpu(0), "no zero"),
}


def first_line(error: Exception | None) -> str | None:
    return None if error is None else f"{type(error).__name__}: {str(error).splitlines()[0]}"


def attempt(call):  # type: ignore[no-untyped-def]
    try:
        return call(), None
    except Exception as error:
        return None, error


def run(name: str) -> dict[str, object]:
    """Call it, then do what any program does next."""
    result, error = attempt(CASES[name])
    answer: dict[str, object] = {"case": name, "call": first_line(error)}
    answer["shape"] = list(result.shape) if isinstance(result, torch.Tensor) else None
    answer["kernel"] = first_line(attempt(lambda: torch.zeros(2, device="cuda"))[1])
    answer["wait"] = first_line(attempt(torch.cuda.synchronize)[1])
    if isinstance(result, torch.Tensor):
        answer["copy"] = first_line(attempt(result.cpu)[1])
    del result
    attempt(torch.cuda.empty_cache)
    return answer


for name in CASES:
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 2)
            print(json.dumps(run(name)), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        said.seek(0)
        print(json.dumps({"case": name, "status": status, "said": said.read().decode()}))
        sys.stdout.flush()
