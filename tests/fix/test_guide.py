"""The guide's example: the program is its first block, the commands say what is shown."""

from __future__ import annotations

import re
from pathlib import Path

from ashore.cli.check import check, fix
from commands import Shell

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "check.md").read_text()


def test_the_example(shell: Shell) -> None:
    program = re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    assert program is not None
    shell.write(predict=program[1])
    text = GUIDE.partition("## How sure")[0]
    shown = re.findall(r"^    \$ (.*)\n((?:    (?!\$).*\n)*)", text, re.MULTILINE)
    assert len(shown) == 3
    for command, output in shown:
        done = shell(*command.split()[1:])
        expected = re.sub(r"^    ", "", output, flags=re.MULTILINE)
        assert done.out == expected, command
    shell.write(predict=program[1] + "print(np.mean(losses))\n")
    assert "TN202" in shell("check", "predict.py").out
    shell("fix", "predict.py")
    repaired = Path("predict.py").read_text()
    assert "`losses.append(scores.pow(2).mean().item())`" in GUIDE
    assert "losses.append(scores.pow(2).mean().item())" in repaired


def test_the_settings_and_options_that_are_shown_exist(shell: Shell) -> None:
    block = re.search(r"(    \[tool.ashore\]\n(?:    .*\n)*)", GUIDE)
    assert block is not None
    Path("pyproject.toml").write_text(re.sub(r"^    ", "", block[1], flags=re.MULTILINE))
    assert shell("check", ".").code == 0
    known = {name for command in (check, fix) for param in command.params for name in param.opts}
    assert set(re.findall(r"--[a-z][a-z-]+", GUIDE)) <= known
