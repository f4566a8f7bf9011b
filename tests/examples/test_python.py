"""Run the Python examples as their readers would, each in a process of its own."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"

# What each needs beyond ashore, and words that it must print.
NEEDS = {
    "bfloat16.py": (["torch"], ["same memory: True", "float32 True", "requires grad: True"]),
    "containers.py": (["torch"], ["Output", "detach + share", "3 arrays", "'note': 'str'"]),
    "evaluation_loop.py": (["torch", "sklearn"], ["macro avg", "accuracy above 0.9: True"]),
    "images.py": (["torch", "PIL"], ["(64, 64, 3) uint8 from 0 to 255", "shared: True"]),
}


def test_every_example_is_run():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(NEEDS)


@pytest.mark.parametrize("name", NEEDS)
def test_example(name, tmp_path):
    modules, words = NEEDS[name]
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for word in words:
        assert word in done.stdout, done.stdout
