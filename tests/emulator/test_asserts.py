"""Values that a CUDA kernel asserts on the device: a line on standard error, and every later call
fails. asserting.py has the calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from emulated import need_emulator

pytestmark = pytest.mark.emulator

PROGRAM = Path(__file__).with_name("asserting.py")
ERROR = "AcceleratorError: CUDA error: device-side assert triggered"
SHAPES = {
    "index": [2],
    "index below": [1],
    "gather out": [2],
    "embedding": [2, 2],
    "nll_loss": [],
    "one_hot": [2, 5],
    "multinomial": [1],
}


@pytest.fixture(scope="module", autouse=True)
def emulator() -> None:
    need_emulator()


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ashore", "run", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, Any]]:
    done = run(str(PROGRAM))
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = {}
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        found.setdefault(answer["case"], {}).update(answer)
    return found


def test_the_call_returns_and_everything_after_it_fails(answers: dict[str, Any]) -> None:
    assert len(answers) >= 27
    for answer in answers.values():
        assert answer["status"] == 0, answer
        assert answer["call"] is None, answer
        assert answer["kernel"] == answer["wait"] == ERROR, answer
        assert answer.get("copy", ERROR) == ERROR, answer


def test_the_device_says_what_it_asserts(answers: dict[str, Any]) -> None:
    for name, answer in answers.items():
        device, ours = answer["said"].splitlines()[:2]
        assert ": block: [0,0,0], thread: [0,0,0] Assertion `" in device, name
        assert device.endswith("` failed."), name
        assert ours.startswith(f"ashore: {PROGRAM}:"), answer
        assert ": aten::" in ours, answer
    assert "Assertion `t >= 0 && t < n_classes` failed." in answers["cross_entropy"]["said"]
    assert "Target -1 is out of bounds." in answers["cross_entropy"]["said"]


def test_results_have_their_shapes(answers: dict[str, Any]) -> None:
    assert {name: answers[name]["shape"] for name in SHAPES} == SHAPES


def test_launch_blocking_raises_at_the_line(tmp_path: Path) -> None:
    script = tmp_path / "wrong.py"
    script.write_text(
        "import torch\n"
        "x = torch.zeros(5, device='cuda')\n"
        "x[torch.tensor([5], device='cuda')]\n"
        "print('not reached')\n"
    )
    done = run(str(script), CUDA_LAUNCH_BLOCKING="1")
    assert done.returncode == 1
    assert f'File "{script}", line 3' in done.stderr
    assert "torch.AcceleratorError: CUDA error: device-side assert triggered" in done.stderr
    assert "might be asynchronously reported" not in done.stderr
    assert done.stdout == ""


def test_a_freed_storage_is_an_illegal_address(tmp_path: Path) -> None:
    script = tmp_path / "freed.py"
    script.write_text(
        "import torch\n"
        "x = torch.arange(5.0, device='cuda')\n"
        "part = x[1:3]\n"
        "x.untyped_storage().resize_(0)\n"
        "print(part.shape, x.detach().shape, torch.zeros_like(x).sum().item())\n"
        "x.untyped_storage().resize_(20)\n"
        "print(x.fill_(2).sum().item())\n"
        "x.untyped_storage().resize_(0)\n"
        "x + 1\n"
    )
    done = run(str(script))
    assert done.returncode == 1
    assert done.stdout == "torch.Size([2]) torch.Size([5]) 0.0\n10.0\n"
    assert f'File "{script}", line 9' in done.stderr
    assert "CUDA error: an illegal memory access was encountered" in done.stderr
    assert f"ashore: {script}:9: a kernel was given a tensor of [5] on cuda:0" in done.stderr
