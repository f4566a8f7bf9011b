"""Expressions with the words of a real GPU, evaluated in one process by device_mix.py: those that
mix devices (device_mix.txt), and those that CUDA refuses or waits for (cuda_rules.txt)."""

from __future__ import annotations

import functools
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from emulated import need_emulator

HERE = Path(__file__).parent
TABLES = ("device_mix.txt", "cuda_rules.txt")
SAME = "RuntimeError: Expected all tensors to be on the same device, but "
pytestmark = pytest.mark.emulator


class Case(NamedTuple):
    """A row of a table."""

    code: str
    outcome: str
    differs: str


def read_cases() -> list[Case]:
    found = []
    lines = [(HERE / name).read_text().splitlines() for name in TABLES]
    for line in itertools.chain(*lines):
        if line.startswith("#"):
            continue
        code, rest = line.split(" => ", 1)
        outcome, *notes = rest.split(" | ")
        differs = [note.removeprefix("differs: ") for note in notes if note.startswith("differs: ")]
        found.append(Case(code, expand(outcome), "".join(differs)))
    return found


def expand(outcome: str) -> str:
    kind, _, rest = outcome.partition(" ")
    if kind == "TWO":
        one, other = rest.split()
        return f"{SAME}found at least two devices, {one} and {other}!"
    if kind == "GOT":
        name, one, other, wrapper = rest.split()
        return (
            f"{SAME}got {name} is on {one}, different from other tensors on {other} "
            f"(when checking argument in method wrapper_{wrapper})"
        )
    return outcome.replace("\\n", "\n")


CASES = read_cases()


@functools.cache
def outcomes() -> list[str]:
    """Return what became of each case."""
    need_emulator()
    done = subprocess.run(
        [sys.executable, str(HERE / "device_mix.py")],
        input=json.dumps([case.code for case in CASES]),
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode != 0:
        return [f"the process ended with {done.returncode}: {done.stderr[-500:]}"] * len(CASES)
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("index", range(len(CASES)), ids=[case.code for case in CASES])
def test_an_expression_is_answered_as_by_cuda(index: int) -> None:
    case, found = CASES[index], outcomes()[index]
    begins = case.outcome.endswith("…")
    told = found.startswith(case.outcome[:-1]) if begins else found == case.outcome
    if case.differs:
        assert not told, "as CUDA does by now: remove `differs` from its row"
        pytest.xfail(case.differs)
    assert told, f"{case.code}\ngives {found}\nnot   {case.outcome}"
