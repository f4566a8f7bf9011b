"""A process that runs cases of a database, and is killed when one takes too long."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

from options import Options
from outcomes import Outcome

START_SECONDS = 300  # compiling the emulator may be part of it


class Worker:
    """One worker process."""

    def __init__(self, database: str, options: Options) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py")), database, options.dump()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        line = self._answer(START_SECONDS)
        if not line:
            raise SystemExit(f"error: the worker for {database} does not start")
        self.cases: list[str] = json.loads(line)

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")  # the end

    def _answer(self, seconds: float) -> str | None:
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            return None

    def run(self, case: str, timeout: float) -> Outcome:
        """Run one case. After a timeout or a crash the worker is gone."""
        assert self._process.stdin
        start = time.perf_counter()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(case + "\n")
            self._process.stdin.flush()
        line = self._answer(timeout)
        if line:
            return Outcome.load(line)
        outcome = Outcome(case).close(time.perf_counter() - start)
        outcome.status = "timeout" if line is None else "crashed"
        self._process.kill()
        self._process.wait()
        return outcome

    def close(self) -> None:
        """End the process, which must end well."""
        assert self._process.stdin
        self._process.stdin.close()
        code = self._process.wait(timeout=60)
        if code != 0:
            raise SystemExit(f"error: a worker ended with {code}")
