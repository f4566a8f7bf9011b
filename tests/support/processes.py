"""Run a program in a Python of its own, where a crash is a result and not the end of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run_python(program: str, *args: str, warnings: str = "error", timeout: float = 120) -> str:
    """Run the program and return what it printed; a crash, an error or a warning fails the test."""
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "faulthandler",
            "-W",
            warnings,
            "-c",
            textwrap.dedent(program),
            *args,
        ],
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.stderr == "", done.stderr
    return done.stdout
