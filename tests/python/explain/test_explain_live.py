"""Explanations where the error happened: `ashore run`, and IPython's `%load_ext ashore`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ashore
import pytest

# What the emulated GPU raises, without PyTorch.
PROGRAM = """\
print("before")
class T:
    def numpy(self):
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")
y = 3 + T().numpy()
"""


def run(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("ASHORE_EXPLAIN", "ASHORE_EMULATE")}
    return subprocess.run(
        [sys.executable, *args],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
        env={**kept, **env},
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def test_run_explains_below_the_traceback(folder: Path) -> None:
    plain = run("train.py", cwd=folder)
    done = run("-m", "ashore", "run", "train.py", cwd=folder)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout) == (1, "before\n")
    assert done.stderr.startswith(f"{plain.stderr}\nashore: train.py:4, in numpy\n")


@pytest.mark.parametrize(
    ("options", "env"), [(["--no-explain"], {}), ([], {"ASHORE_EXPLAIN": "0"}), (["--real"], {})]
)
def test_it_can_be_left_out(folder: Path, options: list[str], env: dict[str, str]) -> None:
    plain = run("train.py", cwd=folder)
    done = run("-m", "ashore", "run", *options, "train.py", cwd=folder, **env)
    assert (done.returncode, done.stdout, done.stderr) == (1, plain.stdout, plain.stderr)


@pytest.mark.parametrize("ending", ["1 / 0", "raise SystemExit(3)", "raise KeyboardInterrupt"])
def test_other_endings_are_python_s(folder: Path, ending: str) -> None:
    plain = run("-c", ending, cwd=folder)
    done = run("-m", "ashore", "run", "-c", ending, cwd=folder)
    assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr)


class Shell:
    """The two methods of IPython's shell that are used."""

    def __init__(self) -> None:
        self.handled: tuple[type[BaseException], ...] = ()
        self.shown: list[object] = []

    def set_custom_exc(self, kinds: tuple[type[BaseException], ...], handler: Any) -> None:
        self.handled, self.handler = kinds, handler

    def showtraceback(self, error: object, **options: object) -> None:
        self.shown.append(error)


def test_the_extension_explains_after_ipython_s_traceback(capsys: Any) -> None:
    shell = Shell()
    ashore.load_ipython_extension(shell)
    assert shell.handled == (Exception,)
    try:
        exec(PROGRAM.replace("print", "repr"), {})
    except TypeError as error:
        shell.handler(shell, TypeError, error, error.__traceback__, tb_offset=1)
    assert len(shell.shown) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "NumPy reads only the memory of the" in printed.err
    ashore.unload_ipython_extension(shell)
    assert shell.handled == ()


def test_the_extension_works_in_ipython(folder: Path) -> None:
    pytest.importorskip("IPython", reason="the extension is IPython's")
    cells = f"%load_ext ashore\n{PROGRAM}"
    (folder / "cells.ipy").write_text(cells)
    done = run("-m", "IPython", "--colors=NoColor", "cells.ipy", cwd=folder)
    assert "NumPy reads only the memory of the" in done.stderr


def test_the_extension_loads_nothing_before_an_error(tmp_path: Path) -> None:
    code = (
        "import sys, ashore\n"
        "class Shell:\n"
        "    def set_custom_exc(self, *args): pass\n"
        "ashore.load_ipython_extension(Shell())\n"
        "print([m for m in ('numpy', 'ashore._core', 'ashore.explain.wordings')"
        " if m in sys.modules])"
    )
    assert run("-c", code, cwd=tmp_path).stdout == "[]\n"
