"""`pytest --emulate-gpu` on the compiled emulator: devices, memory, workers, child processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulated import need_emulator

pytestmark = pytest.mark.emulator

TESTS = """\
import subprocess, sys
import pytest, torch
@pytest.mark.emulated_gpu(devices=2)
def test_values():
    assert torch.cuda.device_count() == 2
    assert (torch.ones(3, device="cuda:1") + 1).tolist() == [2, 2, 2]
@pytest.mark.requires_gpus(2)
def test_errors():
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        torch.ones(3).cuda().numpy()
def test_memory():
    assert torch.cuda.get_device_properties(0).total_memory == 64 << 20
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 30, device="cuda")
def test_child():
    code = "import torch; print(torch.cuda.device_count())"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"2\\n"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    need_emulator()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    (tmp_path / "conftest.py").write_text("import torch\nassert torch.cuda.is_available()\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    return tmp_path


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=300, env=dict(os.environ)
    )


def test_the_tests_see_the_devices() -> None:
    done = run("-m", "pytest", "--emulate-gpu=2", "--emulate-memory=64MiB", "test_it.py")
    assert "4 passed" in done.stdout, done.stdout + done.stderr
    assert "ashore: 2 emulated GPU(s), 64 MiB each\n" in done.stdout


def test_the_configuration_file_says_it(folder: Path) -> None:
    (folder / "pytest.ini").write_text(
        "[pytest]\naddopts = -p no:cacheprovider\nemulate_gpu = 2\nemulate_memory = 64MiB\n"
    )
    assert "4 passed" in run("-m", "pytest").stdout


def test_workers_of_xdist_have_them_too() -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    done = run("-m", "pytest", "-n", "2", "--emulate-gpu=2", "--emulate-memory", "64MiB")
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def test_below_ashore_run(folder: Path) -> None:
    (folder / "early.py").write_text("import torch\n")
    done = run(
        *("-m", "ashore", "run", "--devices", "2", "--memory", "64MiB"),
        *("-m", "pytest", "-p", "early"),
    )
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def test_below_ashore_run_with_the_option_as_well() -> None:
    same = ("--devices", "2", "--memory", "64MiB")
    done = run(
        *("-m", "ashore", "run", *same, "-m", "pytest", "--emulate-gpu=2"),
        "--emulate-memory=64MiB",
    )
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def test_a_torch_that_another_import_hook_took() -> None:
    """Pytest rewrites what -p names, and finds it by itself; nobody may think that it has a GPU."""
    done = run("-m", "ashore", "run", "-m", "pytest", "-p", "torch")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "torch was imported past the emulated GPU" in done.stderr
