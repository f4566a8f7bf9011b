"""Time statements or commands against each other in one run; every topic states its rows with it.

All contestants of a row take turns, pass by pass, so that drift and noise of the machine hit each
of them alike.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter

Sample = Callable[[], float]  # run one pass; return the seconds of one call


@dataclass(frozen=True)
class Target:
    """Hold what a comparison must reach, as text and as the most seconds beside a rival's."""

    text: str
    limit_s: Callable[[float], float]


def times(factor: float, text: str = "") -> Target:
    """Ask for at most `factor` times what the rival takes."""
    return Target(text or f"≤ {factor:.2f} ×", lambda rival_s: factor * rival_s)


def faster(factor: float) -> Target:
    """Ask for at least `factor` times the rival's speed."""
    return times(1 / factor, f"≤ 1/{factor:g} ×")


def ms_over(most: float) -> Target:
    """Ask for at most so many milliseconds on top of what the rival takes."""
    return Target(f"≤ {most:g} ms over", lambda rival_s: rival_s + most / 1e3)


def ms_in_all(most: float) -> Target:
    """Ask for at most so many milliseconds, whatever the rival takes."""
    return Target(f"≤ {most:g} ms", lambda rival_s: most / 1e3)


@dataclass(frozen=True)
class Effort:
    """Say how much to measure: calls in a pass, passes per statement, processes per command."""

    calls: int = 1000
    rounds: int = 200
    processes: int = 20


QUICK = Effort(calls=10, rounds=2, processes=1)


@dataclass(frozen=True)
class Row:
    """State one row: a contestant of ours, its rivals with their targets, and how either is timed.

    What is timed is the very text of `ours` and of each key of `rivals`; a rival without a target
    is there for information.
    """

    name: str
    ours: str
    rivals: Mapping[str, Target | None]
    sampler: Callable[[str], Sample]
    rounds: int
    later: bool = False  # a later issue has to reach the targets


@dataclass(frozen=True)
class Times:
    """Hold the least and the median seconds of one call."""

    least_s: float
    median_s: float


@dataclass(frozen=True)
class Comparison:
    """Hold what came out for one rival."""

    rival: str
    times: Times
    ratio: float  # the median of the rounds' own ratios: busy neighbours slow both sides of a round
    least_ratio: float  # the least of all passes to the least of all passes
    target: Target | None
    target_ratio: float | None  # the target beside this rival's time, whatever its unit

    @property
    def reached(self) -> bool | None:
        return None if self.target_ratio is None else self.ratio <= self.target_ratio


@dataclass(frozen=True)
class Outcome:
    """Hold what came out for a row."""

    topic: str
    row: Row
    ours: Times
    comparisons: tuple[Comparison, ...]


def statement_sampler(
    items: Callable[[int], Iterable[object]], names: Mapping[str, object], calls: int
) -> Callable[[str], Sample]:
    """Return a sampler of statements about `x`, run for each of the `calls` items of a pass.

    `items` makes them anew for every pass, outside the measured time.
    """

    def sampler(statement: str) -> Sample:
        code = (
            "def run(items):\n"
            "    start = perf_counter()\n"
            f"    for x in items: {statement}\n"
            "    return perf_counter() - start\n"
        )
        scope = {**names, "perf_counter": perf_counter}
        exec(code, scope)
        run = scope["run"]
        assert callable(run)
        return lambda: run(items(calls)) / calls

    return sampler


def measure(topic: str, row: Row) -> Outcome:
    """Run a row with the garbage collector off: one pass each to warm up, then rounds of passes."""
    contestants = [row.ours, *row.rivals]
    samples = [row.sampler(contestant) for contestant in contestants]
    seconds: list[list[float]] = [[] for _ in contestants]
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    shuffle = Random(0).shuffle
    try:
        for sample in samples:
            sample()
        order = list(range(len(samples)))
        for _ in range(row.rounds):
            shuffle(order)  # each leaves caches and allocators as the next one finds them
            for place in order:
                seconds[place].append(samples[place]())
    finally:
        if collecting:
            gc.enable()
    ours_s, *others_s = seconds
    comparisons = [
        _compare(rival, target, ours_s, rival_s)
        for (rival, target), rival_s in zip(row.rivals.items(), others_s, strict=True)
    ]
    return Outcome(topic, row, _times(ours_s), tuple(comparisons))


def _times(seconds: Sequence[float]) -> Times:
    return Times(min(seconds), statistics.median(seconds))


def _compare(
    rival: str, target: Target | None, ours_s: Sequence[float], rival_s: Sequence[float]
) -> Comparison:
    times = _times(rival_s)
    return Comparison(
        rival,
        times,
        statistics.median(a / b for a, b in zip(ours_s, rival_s, strict=True)),
        min(ours_s) / times.least_s,
        target,
        target.limit_s(times.least_s) / times.least_s if target else None,
    )
