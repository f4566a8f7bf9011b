"""`ashore fix --run` as a user meets it: options, what is refused, what is put back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulated import need_emulator

BROKEN = 'import torch\n\nx = torch.ones(3, device="cuda")\nprint(x.numpy())\n'
REPAIRED = BROKEN.replace("x.numpy()", "x.cpu().numpy()")
pytestmark = pytest.mark.emulator


@pytest.fixture(autouse=True)
def _emulator() -> None:
    need_emulator()


def fix(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ashore", "fix", "--run", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )


def test_it_is_recorded_repaired_and_verified(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.write_bytes(b"\xef\xbb\xbf" + BROKEN.replace("\n", "\r\n").encode())
    done = fix(tmp_path, "a.py", "--option", "of its own")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("1 place in 1 file repaired\n")
    assert done.stderr.count("ashore: run ") == 3
    assert script.read_bytes() == b"\xef\xbb\xbf" + REPAIRED.replace("\n", "\r\n").encode()


def test_diff_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BROKEN)
    done = fix(tmp_path, "--diff", "a.py")
    assert done.returncode == 1 and "+print(x.cpu().numpy())" in done.stdout
    assert (tmp_path / "a.py").read_text() == BROKEN


@pytest.mark.heavy
def test_what_ends_otherwise_is_put_back(tmp_path: Path) -> None:
    """The program looks at its own text: it cannot do the same once that is edited."""
    text = BROKEN + 'assert ".cpu()." + "numpy" not in open(__file__).read()\n'
    (tmp_path / "a.py").write_text(text)
    done = fix(tmp_path, "a.py")
    assert done.returncode == 1 and "taken back" in done.stderr
    assert (tmp_path / "a.py").read_text() == text
    assert fix(tmp_path, "--no-verify", "a.py").returncode == 0
    assert (tmp_path / "a.py").read_text() != text


@pytest.mark.heavy
def test_files_outside_the_project_are_left_alone(tmp_path: Path) -> None:
    helper = tmp_path / "elsewhere" / "helper.py"
    helper.parent.mkdir()
    helper.write_text("def to_array(x):\n    return x.numpy()\n")
    project = tmp_path / "project"
    project.mkdir()
    os.symlink(helper, project / "helper.py")
    (project / "a.py").write_text(
        'import torch\nfrom helper import to_array\nprint(to_array(torch.ones(1, device="cuda")))\n'
    )
    done = fix(project, "a.py")
    assert done.returncode == 0, done.stdout
    assert 'to_array(torch.ones(1, device="cuda").cpu())' in (project / "a.py").read_text()
    assert helper.read_text() == "def to_array(x):\n    return x.numpy()\n"


@pytest.mark.heavy
def test_a_copy_is_run_and_only_edits_come_back(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BROKEN + 'open("written.txt", "w").close()\n')
    done = fix(tmp_path, "--copy", "a.py")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py"]
    assert "x.cpu().numpy()" in (tmp_path / "a.py").read_text()


@pytest.mark.heavy
def test_a_program_that_does_not_end_is_repaired_as_far_as_it_came(tmp_path: Path) -> None:
    text = BROKEN + "print('waiting', flush=True)\nimport time\ntime.sleep(1000)\n"
    (tmp_path / "a.py").write_text(text)
    done = fix(tmp_path, "--max-seconds", "20", "a.py")
    assert "x.cpu().numpy()" in (tmp_path / "a.py").read_text(), done.stdout + done.stderr


def test_usage(tmp_path: Path) -> None:
    for words in ([], ["nowhere.py"], ["-c", "1"], ["--no-such"]):
        done = fix(tmp_path, *words)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1


def test_pytest_shows_the_repairs(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import numpy as np\nimport torch\n\n\ndef test_sum():\n"
        '    assert np.asarray(torch.ones(3, device="cuda")).sum() == 3\n'
    )
    words = ["--emulate-gpu", "--record-fixes", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'np.asarray(torch.ones(3, device="cuda").cpu()).sum()' in done.stdout
    assert "1 place(s) to repair" in done.stdout
