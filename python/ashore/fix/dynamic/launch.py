"""Run the user's program: under the emulated GPU or the real one, with the recorder or without."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from ashore.emulate._children import HOOK_FOLDER, with_emulation, without_emulation
from ashore.emulate._options import Options
from ashore.fix.record.settings import RECORD, Settings

TIMED_OUT = 124


@dataclass(frozen=True)
class Program:
    """Hold what is run: Python's words, the working folder, the machine, the time it may take."""

    words: tuple[str, ...]  # "script.py", or "-m" and a module, then arguments
    folder: str
    machine: Options | None = field(default_factory=Options)  # None: the real one
    max_seconds: float | None = None


@dataclass(frozen=True)
class Outcome:
    """Hold what a run gave."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def timed_out(self) -> bool:
        """Tell whether the run was ended for taking too long."""
        return self.code == TIMED_OUT

    @property
    def last_line(self) -> str:
        """Return the last line of standard error: the error, as a rule."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        return lines[-1].strip() if lines else ""


def run(program: Program, record: Settings | None = None) -> Outcome:
    """Run the program to its end or its time limit; with the recorder if there are settings."""
    began = monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            [sys.executable, *program.words],
            cwd=program.folder,
            env=_environment(program, record),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            code = child.wait(program.max_seconds)
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
        finally:
            _end(child)
        out.seek(0)
        err.seek(0)
        said, told = (file.read().decode(errors="backslashreplace") for file in (out, err))
    return Outcome(code, said, told, monotonic() - began)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End what is left of the program and its children: they have a process group of their own."""
    with suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _environment(program: Program, record: Settings | None) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if k != RECORD}
    if program.machine is None:
        environment = without_emulation(environment)
    else:
        environment = with_emulation(environment, program.machine)
    # More threads than cores make small programs many times slower, and change sums.
    environment.setdefault("OMP_NUM_THREADS", "1")
    environment.setdefault("MPLBACKEND", "Agg")
    if record is not None:
        environment[RECORD] = record.to_text()
        environment.pop("PYTHONNODEBUGRANGES", None)
        if program.machine is None:
            paths = [str(HOOK_FOLDER), environment.get("PYTHONPATH")]
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return environment


def roots_of(words: Sequence[str], folder: str) -> tuple[str, ...]:
    """Return the folders of the project: the script's, and the working folder if it is inside."""
    here = os.path.realpath(folder)
    if words[0] == "-m":
        return (here,)
    beside = os.path.dirname(os.path.realpath(os.path.join(folder, words[0])))
    return (here,) if (beside + os.sep).startswith(here.rstrip(os.sep) + os.sep) else (beside,)
