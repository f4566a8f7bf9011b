"""Kernels: bandwidth of copies, layout changes and casts, and of images.

Each row has NumPy, torch and `memcpy` of the same traffic as rivals where they have one. The random
rows are drawn anew in every run, so that nothing is tuned to a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from random import Random
from typing import Any

import ashore
import numpy
import torch
from measure import Effort, Row, Target, faster, statement_sampler, times

NAMES = {"ashore": ashore, "numpy": numpy, "torch": torch}
MOST_ROUNDS = 20  # a pass is one call of many milliseconds
WHOLE = 16 << 20  # elements of a full measurement
SMALL_CALLS = 2000  # calls in a pass over small arrays

FILL = "ashore.to_numpy(x.tensor, out=x.out)"
FRESH = "ashore.to_numpy(x.tensor, copy=True, order='C', dtype=x.out.dtype)"
MEMCPY = "numpy.copyto(x.there, x.here)"
NUMPY = "numpy.copyto(x.out, x.array, casting='unsafe')"
TORCH = "x.out_tensor.copy_(x.tensor)"
TO = "x.tensor.to(x.out_tensor.dtype)"
IMAGE = "ashore.to_image(x.tensor)"
TORCH_IMAGE = (
    "x.tensor.mul(255).round_().clamp_(0, 255).to(torch.uint8)"
    ".permute(0, 2, 3, 1).contiguous().numpy()"
)


@dataclass(frozen=True)
class Case:
    """Hold one conversion: what is read, what is written, and buffers with as many bytes."""

    tensor: torch.Tensor
    array: Any
    out: Any
    out_tensor: torch.Tensor
    here: Any
    there: Any


def case(tensor: torch.Tensor, to: str | None = None) -> Case:
    array = ashore.to_numpy(tensor)
    dtype = tensor.dtype if to is None else getattr(torch, to)
    out_tensor = torch.zeros(tensor.shape, dtype=dtype)
    out = ashore.to_numpy(out_tensor)
    traffic = array.size * (array.itemsize + out.itemsize)
    here, there = (numpy.ones(max(1, traffic // 2), numpy.uint8) for _ in range(2))
    return Case(tensor, array, out, out_tensor, here, there)


def numbers(shape: Iterable[int], dtype: str) -> torch.Tensor:
    return torch.randint(0, 100, tuple(shape)).to(getattr(torch, dtype))


@lru_cache(maxsize=1)  # a row at a time: its memory goes when the next row comes
def made(make: Callable[[], Case]) -> Case:
    return make()


def row(
    name: str,
    make: Callable[[], Case],
    ours: str,
    rivals: Mapping[str, Target | None],
    rounds: int,
    calls: int = 1,
) -> Row:
    sampler = statement_sampler(lambda calls: repeat(made(make), calls), NAMES, calls)
    return Row(name, ours, rivals, sampler, rounds)


def rows(effort: Effort) -> list[Row]:
    """State the rows of "Bandwidth" and some random ones."""
    rounds = min(effort.rounds, MOST_ROUNDS)
    size = WHOLE if effort.calls >= 1000 else WHOLE // 256
    side = 4096 if effort.calls >= 1000 else 256
    images = 32 if effort.calls >= 1000 else 1
    calls = min(effort.calls, SMALL_CALLS)
    return [
        *_copies(size, side, rounds),
        *_small(calls, rounds),
        *_layouts(side, images, rounds),
        *_casts(size, rounds),
        *_random(size // 4, rounds, min(calls, RANDOM_CALLS)),
    ]


def _copies(size: int, side: int, rounds: int) -> list[Row]:
    def whole() -> Case:
        return case(numbers([size], "float32"))

    equal = times(1 / 0.95)
    likes: dict[str, Callable[[], Case]] = {
        "rows-16-of-64": lambda: case(numbers([size // 32, 64], "float32")[:, :16]),
        "rows-500-of-1024": lambda: case(numbers([size // 512, 1024], "float32")[:, :500]),
        "step-2": lambda: case(numbers([2 * size], "float32")[::2]),
        "step-3": lambda: case(numbers([3 * size], "float32")[::3]),
        "expand-last": lambda: case(numbers([side, 1], "float32").expand(side, side)),
        "expand-first": lambda: case(numbers([1, side], "float32").expand(side, side)),
    }
    fresh = "ashore.to_numpy(x.tensor, copy=True)"
    rivals = {"numpy.copy(x.array)": faster(1.5), "x.tensor.clone()": faster(4), MEMCPY: None}
    return [
        row("large-copy-fresh", whole, fresh, rivals, rounds),
        row("large-copy-out", whole, FILL, {NUMPY: times(1), TORCH: times(1)}, rounds),
        *(
            row(name, make, FILL, {NUMPY: equal, TORCH: equal, MEMCPY: None}, rounds)
            for name, make in likes.items()
        ),
        row(
            "flip",
            lambda: case(numbers([size], "float32")),
            "ashore.to_numpy(x.array[::-1], out=x.out)",
            {"numpy.copyto(x.out, x.array[::-1])": equal, MEMCPY: None},
            rounds,
        ),
    ]


def _small(calls: int, rounds: int) -> list[Row]:
    def small(bytes_: int) -> Callable[[], Case]:
        return lambda: case(numbers([bytes_ // 4], "float32"))

    copy = "ashore.to_numpy(x.tensor, copy=True)"
    rivals = {
        "x.tensor.numpy().copy()": times(1 / 0.95),
        "x.tensor.clone().numpy()": times(1 / 0.95),
    }
    sizes = {"64B": 64, "1KiB": 1 << 10, "16KiB": 16 << 10, "64KiB": 64 << 10}
    return [
        row(f"small-{name}", small(size), copy, rivals, rounds, calls)
        for name, size in sizes.items()
    ]


def _layouts(side: int, images: int, rounds: int) -> list[Row]:
    picture = (images, 3, 224, 224)
    five = (images // 4 or 1, 16, 32, 64, 64)
    channels_first, channels_last = (0, 3, 1, 2), (0, 2, 3, 1)
    last = (picture[0], *picture[2:], 3)
    wide = (images, 512, 1024)
    idiom = "x.tensor.float().contiguous().numpy()"
    to_torch = {TORCH: faster(3), NUMPY: None, MEMCPY: None}
    woven = {TORCH: faster(4.5), NUMPY: None, MEMCPY: None}
    return [
        row(
            "transpose",
            lambda: case(numbers([side, side], "float32").t()),
            FILL,
            {TORCH: faster(2.7), NUMPY: faster(30), MEMCPY: None},
            rounds,
        ),
        row(
            "nchw-to-nhwc",
            lambda: case(numbers(picture, "uint8").permute(channels_last)),
            FILL,
            woven,
            rounds,
        ),
        row(
            "nhwc-to-nchw",
            lambda: case(numbers(last, "uint8").permute(channels_first)),
            FILL,
            woven,
            rounds,
        ),
        row(
            "permute-03412",
            lambda: case(numbers(five, "float32").permute(0, 3, 4, 1, 2)),
            FILL,
            to_torch,
            rounds,
        ),
        row(
            "permute-42013",
            lambda: case(numbers(five, "float32").permute(4, 2, 0, 1, 3)),
            FILL,
            to_torch,
            rounds,
        ),
        row(
            "permute-and-cast",
            lambda: case(numbers(wide, "bfloat16").permute(0, 2, 1), "float32"),
            FILL,
            {idiom: faster(10), TORCH: faster(3), MEMCPY: None},
            rounds,
        ),
        row(
            "image",
            lambda: case(torch.rand(picture)),
            IMAGE,
            {TORCH_IMAGE: faster(2), MEMCPY: None},
            rounds,
        ),
    ]


PAIRS = [
    ("bfloat16", "float32"),
    ("float32", "bfloat16"),
    ("float16", "float32"),
    ("float32", "float16"),
    ("float64", "float32"),
    ("int64", "int32"),
    ("uint8", "float32"),
    ("float8_e4m3fn", "float32"),
    ("float8_e5m2", "float32"),
    ("float32", "float8_e4m3fn"),
]


def _casts(size: int, rounds: int) -> list[Row]:
    near_memcpy = times(1 / 0.9)

    def make(source: str, to: str) -> Callable[[], Case]:
        return lambda: case(numbers([size], source), to)

    out: list[Row] = []
    for source, to in PAIRS:
        rivals: dict[str, Target | None] = {MEMCPY: near_memcpy, TORCH: None, NUMPY: None}
        if source == "float16":
            rivals[NUMPY] = faster(5)
        if source.startswith("float8"):
            rivals[TORCH] = faster(15)
        out.append(row(f"{source}-to-{to}", make(source, to), FILL, rivals, rounds))
        out.append(row(f"{source}-to-{to}-fresh", make(source, to), FRESH, {TO: faster(3)}, rounds))
    return out


RANDOM_DTYPES = """bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 float8_e4m3fn
    float8_e5m2 complex64 complex128""".split()
RANDOM_LENGTHS = [1, 2, 3, 4, 5, 7, 8, 16, 17, 64, 100]
RANDOM_ROWS = 12
RANDOM_CALLS = 200  # at most in a pass: half of the rows are small


@dataclass(frozen=True)
class Drawn:
    """Hold a random conversion: a view of shape `shape` of a base with axes in another order."""

    source: str
    to: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    odd_axis: int
    odd: str  # what is done along that axis: nothing, a step, a piece of a longer one, a repeat

    def __str__(self) -> str:
        odd = f", {self.odd} along {self.odd_axis}" if self.odd else ""
        return f"{self.source} to {self.to}, {self.shape} of axes {self.axes}{odd}"

    def make(self) -> Case:
        length = self.shape[self.odd_axis]
        lengths = list(self.shape)
        lengths[self.odd_axis] = {"": length, "step": 3 * length, "piece": length + 3}.get(
            self.odd, 1
        )
        base = [0] * len(lengths)
        for place, axis in enumerate(self.axes):
            base[axis] = lengths[place]
        tensor = numbers(base, self.source).permute(self.axes)
        if self.odd == "step":
            tensor = tensor[(slice(None),) * self.odd_axis + (slice(None, None, 3),)]
        elif self.odd == "piece":
            tensor = tensor.narrow(self.odd_axis, 1, length)
        return case(tensor.expand(self.shape), self.to)


def draw(random: Random, most_elems: int) -> Drawn:
    """Draw dtypes, a shape of few or many elements, an order of axes and what else is odd."""
    source, to = random.choice(RANDOM_DTYPES), random.choice(RANDOM_DTYPES)
    if source.startswith("complex") and not to.startswith("complex"):
        to = source
    ndim = random.randint(1, 5)
    elems = max(1, int(most_elems / 4 ** random.choice([0, 0, 1, 3, 5, 7])))
    shape = [random.choice(RANDOM_LENGTHS) for _ in range(ndim)]
    while numpy.prod(shape) > elems:
        longest = shape.index(max(shape))
        shape[longest] = max(1, shape[longest] // 2)
    long = random.randrange(ndim)
    shape[long] *= max(1, elems // int(numpy.prod(shape)))
    odd = random.choice(["", "", "step", "piece", "repeat"])
    axes = random.sample(range(ndim), ndim)
    return Drawn(source, to, tuple(shape), tuple(axes), random.randrange(ndim), odd)


def _random(most_elems: int, rounds: int, calls: int) -> list[Row]:
    random = Random()
    equal = times(1 / 0.95)
    rows = []
    for number in range(1, RANDOM_ROWS + 1):
        drawn = draw(random, most_elems)
        few = int(numpy.prod(drawn.shape)) < 10_000
        ours = f"{FILL}  # {drawn}"  # so that the table says what was drawn
        rivals = {TORCH: equal, NUMPY: equal, MEMCPY: None}
        rows.append(row(f"random-{number}", drawn.make, ours, rivals, rounds, calls if few else 1))
    return rows
