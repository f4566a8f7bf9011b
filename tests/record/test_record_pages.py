"""The pages of what only a run can find: the wrong example is repaired to the right one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from ashore.fix.dynamic.rules import RUN_RULES
from ashore.fix.pages import page
from emulated import need_emulator

pytestmark = [pytest.mark.emulator, pytest.mark.heavy]


@pytest.mark.parametrize("rule", [*RUN_RULES, "TN301"])
def test_the_wrong_example_becomes_the_right_one(rule: str, tmp_path: Path) -> None:
    need_emulator()
    parts = dict(re.findall(r"## (\w+)\n```python\n(.*?)```", page(rule), re.DOTALL))
    script = tmp_path / "program.py"
    script.write_text(parts["Wrong"])
    command = [sys.executable, "-m", "ashore", "fix", "--run", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    if rule != "TN301":
        assert script.read_text() == parts["Right"]
