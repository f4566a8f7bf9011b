"""CUDA_VISIBLE_DEVICES under `ashore run`: as on a machine with so many GPUs, read when torch is
imported; real ones stay hidden from everything else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from emulated import need_emulator

pytestmark = pytest.mark.emulator

COUNT = "import torch; print(torch.cuda.device_count(), torch.cuda.is_available())"


def run(code: str, visible: str | None = None) -> str:
    need_emulator()
    environment = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
    if visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    done = subprocess.run(
        [sys.executable, "-m", "ashore", "run", "--devices", "3", "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("visible", "answer"),
    [
        (None, "3 True"),
        ("", "0 False"),
        ("-1", "0 False"),
        ("1", "1 True"),
        ("2,0", "2 True"),
        ("0, 1,7,2", "2 True"),  # up to the first that is none
        ("0,0", "0 False"),
        ("none", "0 False"),
    ],
)
def test_as_many_as_are_named(visible: str | None, answer: str) -> None:
    code = f"import os; print(os.environ.get('CUDA_VISIBLE_DEVICES')); {COUNT}"
    assert run(code, visible) == f"{visible}\n{answer}\n"


def test_without_one_it_is_pytorch_s_error() -> None:
    code = """
import torch
try:
    torch.ones(1, device="cuda")
except RuntimeError as error:
    print(error)
print(torch.ones(1).sum().item(), torch.cuda.is_initialized())
"""
    assert run(code, "") == "No CUDA GPUs are available\n1.0 False\n"


def test_a_program_chooses_and_its_children_inherit_it() -> None:
    code = f"""
import os, subprocess, sys
os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
{COUNT}
print(os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
child = [sys.executable, "-c", "import os; print(os.environ['CUDA_VISIBLE_DEVICES']); {COUNT}"]
subprocess.run(child, check=True)
subprocess.run(child, check=True, env={{**os.environ, "CUDA_VISIBLE_DEVICES": "2"}})
"""
    assert run(code) == "2 True\n0,1\n0,1\n2 True\n2\n1 True\n"


def test_real_devices_stay_hidden_from_other_programs() -> None:
    code = """
import os, subprocess, torch
assert "CUDA_VISIBLE_DEVICES" not in os.environ
print(subprocess.run(["printenv", "CUDA_VISIBLE_DEVICES"], capture_output=True, text=True).stdout)
"""
    assert run(code) == "ashore\n\n"
    assert run(code.replace("assert", "#"), "1") == "ashore:1\n\n"
