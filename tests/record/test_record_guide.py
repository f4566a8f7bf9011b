"""The example of docs/guide/fix-run.md, typed as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from emulated import need_emulator

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "fix-run.md"
pytestmark = pytest.mark.emulator


def test_the_example_is_repaired_as_shown(tmp_path: Path) -> None:
    need_emulator()
    text = PAGE.read_text()
    script = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    shown = text.partition("    $ ashore fix --run evaluate.py\n")[2].partition("\n\n`scaled`")[0]
    expected = "".join(f"{line[4:]}\n" for line in shown.splitlines())
    (tmp_path / "evaluate.py").write_text(script)
    command = [sys.executable, "-m", "ashore", "fix", "--run", "evaluate.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.stdout == expected and done.returncode == 0, done.stdout + done.stderr
