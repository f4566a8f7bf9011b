"""Programs as people write them, and unmodified third-party code, on the emulated GPU. Each file of
programs/ is one program, run by `ashore run`; its exit code is the verdict.

A few of the quick ones run always, the others with `-m heavy`. What third-party code needs is the
extra `clients`: `pip install -e '.[clients]'`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from emulated import need_emulator

PROGRAMS = Path(__file__).parent / "programs"
pytestmark = pytest.mark.emulator


class Program(NamedTuple):
    """How a program is run."""

    words: str
    devices: int = 1
    needs: str = ""
    heavy: bool = True


TABLE = [
    Program("data_loader.py", heavy=False),
    Program("mixed_precision.py", heavy=False),
    Program("data_parallel.py", devices=2, heavy=False),
    Program("prefetcher.py", heavy=False),
    Program("mistakes.py", devices=2, heavy=False),
    Program("tensor_types.py", heavy=False),
    Program("accumulate.py"),
    Program("checkpoints.py", devices=2),
    Program("child_processes.py", devices=2),
    Program("compiled_models.py", needs="optree"),
    Program("loss_curves.py"),
    Program("memory_use.py"),
    Program("two_processes.py", devices=2),
    Program("accelerate_loop.py fp16", devices=2, needs="accelerate"),
    Program("accelerate_loop.py bf16", devices=2, needs="accelerate"),
    Program("lightning_trainer.py 1", devices=2, needs="lightning"),
    Program("lightning_trainer.py 2", devices=2, needs="lightning"),
    Program("sklearn_handoff.py", needs="sklearn skorch"),
    Program("torchmetrics_values.py", needs="torchmetrics scipy"),
    Program("transformers_tiny.py", needs="transformers accelerate"),
]


def run(program: Program, folder: Path) -> subprocess.CompletedProcess[str]:
    name, *arguments = program.words.split()
    machine = ["--devices", str(program.devices), "--memory", "2GiB"]
    return subprocess.run(
        [sys.executable, "-m", "ashore", "run", *machine, PROGRAMS / name, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HOME": str(folder)},
    )


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(p, id=p.words.replace(".py", ""), marks=[pytest.mark.heavy] * p.heavy)
        for p in TABLE
    ],
)
def test_a_program_runs_as_on_a_gpu(program: Program, tmp_path: Path) -> None:
    need_emulator()
    missing = [name for name in program.needs.split() if find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed: pip install -e '.[clients]'")
    done = run(program, tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]


def leave(times: int, folder: Path) -> None:
    for number in range(times):
        done = run(Program("exits.py"), folder)
        assert (done.returncode, done.stderr) == (0, ""), f"exit {number}: {done.stderr[-2000:]}"


def test_a_program_leaves_right_after_backward(tmp_path: Path) -> None:
    need_emulator()
    leave(3, tmp_path)


@pytest.mark.heavy
def test_fifty_programs_leave_right_after_backward(tmp_path: Path) -> None:
    need_emulator()
    leave(50, tmp_path)


def test_every_program_is_in_the_table() -> None:
    listed = {program.words.split()[0] for program in TABLE} | {"exits.py"}
    assert listed == {path.name for path in PROGRAMS.glob("*.py")}
