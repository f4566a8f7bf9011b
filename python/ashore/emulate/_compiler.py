"""The system's C++ compiler: which one, and several of its jobs at once; used by the build."""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ashore.emulate._build_error import CannotEmulate
from ashore.emulate._build_progress import Progress

_OLDEST = {"g++": 12, "clang++": 14}
_OTHERS = [*(f"g++-{n}" for n in range(15, 11, -1)), *(f"clang++-{n}" for n in range(21, 13, -1))]
_BYTES_PER_JOB = 3 << 29  # of memory; a file that includes ATen takes about 1 GB
_SHOWN_ERRORS = 3
_WAY_OUT = "name a C++ compiler in CXX, or unset it to take g++ or clang++"


class Compiler(NamedTuple):
    """A command that compiles C++20 and the first line of what it says of its version."""

    command: tuple[str, ...]
    version: str


class Job(NamedTuple):
    """One command of a build, the file it leaves, and what to run instead if it fails."""

    title: str
    command: Sequence[str]
    made: Path
    instead: Sequence[Job] = ()


def find_compiler() -> Compiler | None:
    """Return $CXX, or the first compiler on the path that is new enough; None if there is none."""
    chosen = _chosen()
    if chosen:
        version = _version(chosen)
        return None if version is None else Compiler(tuple(chosen), version)
    for name in (*_OLDEST, *_OTHERS):
        version = _version([name])
        if version is not None and _is_new_enough(version):
            return Compiler((name,), version)
    return None


def no_compiler() -> CannotEmulate:
    """Return the error for a machine without one, or with a wrong $CXX."""
    if chosen := _chosen():
        return CannotEmulate(f"CXX={shlex.join(chosen)} cannot be run; {_WAY_OUT}")
    needed = " or ".join(f"{name} {oldest}" for name, oldest in _OLDEST.items())
    return CannotEmulate(
        f"the emulated GPU is compiled on first use and there is no C++ compiler ({needed}, or "
        "newer): install g++, or name one in CXX"
    )


def run_jobs(
    jobs: Sequence[Job], workers: int, log: Path, folder: Path, progress: Progress
) -> None:
    """Run the commands, so many at once; the first that fails ends the others with CannotEmulate.

    What they print goes to `log`, their temporary files into `folder`. Whatever ends this function
    ends them, with all that they started.
    """
    stop = threading.Event()
    # In a thread of its own no signal can come between a command's start and the note of it.
    with ThreadPoolExecutor(1) as helper:
        try:
            helper.submit(_run, jobs, workers, log, folder, progress, stop).result()
        finally:
            stop.set()


def _run(
    jobs: Sequence[Job],
    workers: int,
    log: Path,
    folder: Path,
    progress: Progress,
    stop: threading.Event,
) -> None:
    waiting = list(reversed(jobs))
    running: list[tuple[Job, subprocess.Popen[bytes], Path]] = []
    number = 0
    environment = {**os.environ, "TMPDIR": str(folder), "LC_ALL": "C"}
    try:
        while (waiting or running) and not stop.is_set():
            while waiting and len(running) < workers:
                job = waiting.pop()
                number += 1
                said = folder / f"said-{number}"
                with said.open("wb") as output:
                    process = subprocess.Popen(
                        job.command,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        env=environment,
                        process_group=0,  # what it starts ends with it; a Ctrl-C is for us
                    )
                running.append((job, process, said))
            for one in [one for one in running if one[1].poll() is not None]:
                running.remove(one)
                instead = _finish(*one, log)
                waiting += instead
                progress.step(len(instead))
            progress.tick()
            stop.wait(0.02)
    finally:
        for _, process, _ in running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for _, process, _ in running:
            process.wait()


def worker_count(folder: str = "/sys/fs/cgroup", meminfo: str = "/proc/meminfo") -> int:
    """Return how many jobs may run at once: $ASHORE_JOBS, else what cores and memory allow."""
    wanted = os.environ.get("ASHORE_JOBS", "")
    if wanted:
        if not wanted.isdecimal() or int(wanted) < 1:
            raise CannotEmulate(f"ASHORE_JOBS is a number of compilers, 1 or more, not {wanted!r}")
        return int(wanted)
    count = len(os.sched_getaffinity(0))
    quota = _cgroup_cores(Path(folder))
    if quota is not None:
        count = min(count, max(1, round(quota)))
    try:
        free = re.search(r"^MemAvailable:\s+(\d+) kB", Path(meminfo).read_text(), re.MULTILINE)
    except OSError:
        free = None
    return count if free is None else max(1, min(count, int(free[1]) * 1024 // _BYTES_PER_JOB))


def _cgroup_cores(folder: Path) -> float | None:
    """Return the cores that the control group allows (version 2, then 1), None for all."""
    try:
        quota, period = (folder / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota, period = (
                (folder / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period")
            )
        except OSError:
            return None
    try:
        cores = int(quota) / int(period)
    except (ValueError, ZeroDivisionError):  # "max"
        return None
    return cores if cores > 0 else None


def _chosen() -> list[str]:
    try:
        return shlex.split(os.environ.get("CXX", ""))
    except ValueError as error:
        raise CannotEmulate(f"CXX={os.environ['CXX']} is no command ({error})") from None


def _version(command: list[str]) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    try:
        said = subprocess.run(
            [*command, "--version"], capture_output=True, stdin=subprocess.DEVNULL, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = said.stdout.decode(errors="replace").splitlines()
    return lines[0] if said.returncode == 0 and lines else None


def _is_new_enough(version: str) -> bool:
    if found := re.search(r"clang version (\d+)", version):
        return int(found[1]) >= _OLDEST["clang++"]
    found = re.search(r"\) (\d+)\.\d+", version) or re.search(r" (\d+)\.\d+", version)
    return found is None or int(found[1]) >= _OLDEST["g++"]


def _finish(job: Job, process: subprocess.Popen[bytes], said: Path, log: Path) -> Sequence[Job]:
    """Return the jobs that take the place of one that failed; raise if there are none."""
    text = said.read_text(errors="replace")
    said.unlink()
    with log.open("a") as file:
        file.write(f"{shlex.join(job.command)}\n{text}\n")
    if process.returncode == 0:
        if not job.made.exists():
            raise CannotEmulate(
                f"{job.title} made nothing: {job.command[0]} does not behave as a C++ compiler; "
                f"{_WAY_OUT}"
            )
        return ()
    if "No space left on device" in text:
        raise OSError(errno.ENOSPC, "No space left on device", str(said.parent))
    if job.instead:
        return job.instead
    lines = [" ".join(line.split()) for line in text.splitlines() if "rror:" in line]
    shown = lines[:_SHOWN_ERRORS] or [text.strip().splitlines()[-1] if text.strip() else ""]
    code = process.returncode
    status = f"signal {-code}" if code < 0 else f"exit status {code}"
    raise CannotEmulate(
        f"{job.title} failed ({status}): {' | '.join(filter(None, shown)) or 'it said nothing'}; "
        f"all of it is in {log}"
    )
