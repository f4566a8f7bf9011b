"""PyTorch's own databases of operators, modules and optimizers, run on the emulated GPU: a slice in
the ordinary test run, all of it with `-m heavy`. The work is run.py's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from emulated import need_emulator

RUN = Path(__file__).with_name("run.py")
pytestmark = pytest.mark.emulator


def run(*arguments: str) -> None:
    need_emulator()
    pytest.importorskip("expecttest", reason="PyTorch's databases import it")
    command = [sys.executable, str(RUN), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_a_slice_of_all_databases_agrees_with_the_cpu() -> None:
    run("--slice")


@pytest.mark.heavy
@pytest.mark.parametrize("database", ["op_db", "module_db", "optim_db"])
def test_a_whole_database_agrees_with_the_cpu(database: str) -> None:
    run(database, "--output", "build/databases")
