"""Programs that fail on a GPU, repaired by `ashore fix --run`: each prints then what it should.

A script says it in `# prints:` lines; `# untouched:` is text that must stay as it is, `# part of`
marks a file that another one uses. Some would break if every tensor simply got
`.detach().cpu().numpy()`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from emulated import need_emulator

SCRIPTS = Path(__file__).parent / "scripts"
NAMES = sorted(path.name for path in SCRIPTS.glob("*.py") if "# part of" not in path.read_text())
LIGHT = {"write_in_place.py"}
pytestmark = pytest.mark.emulator


def said(text: str, word: str) -> list[str]:
    start = f"# {word}: "
    return [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]


def ashore(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ashore", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"},
    )


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in LIGHT else [pytest.mark.heavy]) for n in NAMES]
)
def test_a_program_is_repaired(name: str, tmp_path: Path) -> None:
    need_emulator()
    folder = tmp_path / "work"
    shutil.copytree(SCRIPTS, folder)
    before = (SCRIPTS / name).read_text()
    done = ashore("fix", "--run", name, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    ran = ashore("run", name, folder=folder)
    assert ran.returncode == 0, done.stdout + ran.stderr
    for line in said(before, "prints"):
        assert line in ran.stdout, done.stdout
    after = (folder / name).read_text()
    for text in said(before, "untouched"):
        assert after.count(text) == before.count(text), done.stdout
    again = ashore("fix", "--run", name, folder=folder)
    assert (again.returncode, again.stdout) == (0, "nothing to repair\n"), again.stderr


@pytest.mark.heavy
def test_a_module_of_a_package_is_repaired(tmp_path: Path) -> None:
    need_emulator()
    shutil.copytree(SCRIPTS / "held_package", tmp_path / "held_package")
    done = ashore("fix", "--run", "-m", "held_package.train", "a", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    ran = ashore("run", "-m", "held_package.train", "a", folder=tmp_path)
    assert ran.stdout == "3.0 a\n", ran.stderr
