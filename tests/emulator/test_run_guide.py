"""What docs/guide/emulate.md shows beyond the blocks that tests/docs runs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from emulated import need_emulator

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "emulate.md").read_text()


def indented(first: str) -> str:
    """Return the indented block that starts with a line."""
    lines = PAGE[PAGE.index(f"    {first}\n") :].splitlines()
    block = []
    for line in lines:
        if line and not line.startswith("    "):
            break
        block.append(line[4:])
    return "\n".join(block).strip() + "\n"


def test_the_workflow_is_one() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    steps = yaml.safe_load(indented("jobs:"))["jobs"]["gpu-tests"]["steps"]
    assert [step["run"] for step in steps if "run" in step][1:] == [
        "ashore emulate build",
        "pytest --emulate-gpu=2",
    ]
    assert all(("uses" in step) != ("run" in step) for step in steps)


def test_the_configuration_is_read(tmp_path: Path) -> None:
    text = indented("[tool.pytest.ini_options]")
    options = tomllib.loads(text)["tool"]["pytest"]["ini_options"]
    names = {*options, *re.findall(r"emulate_\w+", text)}
    shown = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"], capture_output=True, text=True, cwd=tmp_path
    ).stdout
    for name in names:
        assert f"  {name} (" in shown, name


def test_the_commands_are_understood(tmp_path: Path) -> None:
    commands = re.findall(r"^    ashore (run .*)$", PAGE, re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        words = command.split()
        program = next(word for word in words if word in ("-m",) or word.endswith(".py"))
        at = words.index(program)
        words[at:] = ["-c", "print('run')"]
        done = subprocess.run(
            [sys.executable, "-m", "ashore", *words], capture_output=True, text=True, cwd=tmp_path
        )
        assert (done.returncode, done.stdout) == (0, "run\n"), f"{command}: {done.stderr}"


def test_each_option_has_its_row() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "ashore", "run", "--help"], capture_output=True, text=True
    ).stdout
    rows = set(re.findall(r"^\| `(--[\w-]+)", PAGE, re.MULTILINE))
    assert rows == set(re.findall(r"--(?!help)[\w-]+", shown.partition("Options:")[2].partition(
        "Examples:")[0])) - {"--late-copies", "--explain"}  # fmt: skip


@pytest.mark.emulator
def test_the_script_fails_as_the_page_says(tmp_path: Path) -> None:
    need_emulator()
    script = PAGE.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "predict.py").write_text(script)
    command = [sys.executable, "-m", "ashore", "run", "predict.py"]
    failed = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert failed.returncode == 1
    told = re.search(r"`(TypeError: [^`]*)`", PAGE)
    traceback, _, explained = failed.stderr.partition("\n\nashore: ")
    assert told and traceback.splitlines()[-1] == " ".join(told[1].split())
    assert "  write  print(scores.detach().cpu().numpy().shape)\n" in explained
    fixed = "import ashore\n" + script.replace("scores.numpy()", "ashore.to_numpy(scores)")
    (tmp_path / "predict.py").write_text(fixed)
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "(8, 3)\n"), done.stderr
