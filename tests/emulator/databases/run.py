"""Run PyTorch's own databases of operators, modules and optimizers on the emulated GPU.

    python tests/emulator/databases/run.py [DATABASE …] [--jobs 2] [--samples 40] [--cases REGEX]
        [--dtypes float32,…] [--slice] [--timeout 120] [--output build/databases]

Prints what went wrong and a summary, writes OUTPUT/DATABASE.json, and exits with 1 if a case failed
that known.toml does not explain, or passed that it says fails.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import re
import sys
import threading
import time
from pathlib import Path

from options import Known, Options, read_known
from outcomes import Failure, Outcome
from workers import Worker

DATABASES = ("op_db", "module_db", "optim_db")
HERE = Path(__file__).parent


class Queue:
    """The cases of one database, handed out to workers one at a time, and their outcomes."""

    def __init__(self, cases: list[str]) -> None:
        self._left = collections.deque(cases)
        self._lock = threading.Lock()
        self.count = len(cases)
        self.outcomes: list[Outcome] = []
        self.broken: BaseException | None = None

    def take(self) -> str | None:
        with self._lock:
            return self._left.popleft() if self._left and not self.broken else None

    def put(self, outcome: Outcome) -> None:
        with self._lock:
            self.outcomes.append(outcome)


def run_database(
    database: str, options: Options, cases: str, jobs: int, timeout: float
) -> list[Outcome]:
    """Run the cases whose whole name fits the regular expression, in `jobs` processes."""
    first = Worker(database, options)
    wanted = [name for name in first.cases if re.fullmatch(cases, name)]
    if not wanted:
        first.close()
        raise SystemExit(f"error: {database} has no case that fits {cases}")
    queue = Queue(wanted)

    def serve(worker: Worker | None) -> None:
        try:
            while (case := queue.take()) is not None:
                if worker is None:
                    worker = Worker(database, options)
                outcome = worker.run(case, timeout)
                if outcome.status in ("timeout", "crashed"):
                    worker = None
                queue.put(outcome)
                if sys.stderr.isatty():
                    print(
                        f"\r{len(queue.outcomes)}/{queue.count} {case:60}", end="", file=sys.stderr
                    )
            if worker is not None:
                worker.close()
        except BaseException as error:
            queue.broken = error

    threads = [
        threading.Thread(target=serve, args=[first if i == 0 else None])
        for i in range(min(jobs, len(wanted)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if queue.broken:
        raise queue.broken
    return sorted(queue.outcomes, key=lambda outcome: wanted.index(outcome.case))


def unexplained(
    database: str, outcomes: list[Outcome], known: list[Known], whole: bool
) -> list[str]:
    """Return one line for each outcome that known.toml does not say, and, where the run is whole,
    for each row there that nothing needs."""
    wrong, used = [], set()
    for outcome in outcomes:
        failures = outcome.failures
        if outcome.status in ("timeout", "crashed"):
            failures = [Failure("any", -1, outcome.status)]
        for failure in failures:
            rows = [
                row
                for row in known
                if (row.database, row.case) == (database, outcome.case)
                and row.explains(failure.dtype, failure.error)
            ]
            used.update(rows)
            if not rows:
                wrong.append(f"{outcome.case} [{failure.dtype} #{failure.sample}] {failure.error}")
    if whole:
        wrong += [
            f"{row.case}: known.toml says that it fails ({row.error}), and it does not"
            for row in known
            if row.database == database and row not in used
        ]
    return wrong


def summary(database: str, outcomes: list[Outcome]) -> str:
    """Return one line of figures."""
    statuses = collections.Counter(outcome.status for outcome in outcomes)
    counts = [
        f"{sum(getattr(outcome, name) for outcome in outcomes)} {name.replace('_', ' ')}"
        for name in ("passed", "failed", "backward", "random", "refused", "left_out")
    ]
    by_status = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    return f"{database}: {len(outcomes)} cases ({by_status}); samples: {', '.join(counts)}"


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("databases", nargs="*", metavar="DATABASE", help="op_db module_db optim_db")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--samples", type=int, default=40, help="per dtype, at most")
    parser.add_argument("--dtypes", default="", help="only these, separated by commas")
    parser.add_argument("--cases", default=".*", help="a regular expression for the whole name")
    parser.add_argument("--slice", action="store_true", help="a few cases of each, in a minute")
    parser.add_argument("--timeout", type=float, default=180, help="seconds per case")
    parser.add_argument("--output", type=Path, help="a folder for DATABASE.json")
    chosen = parser.parse_args(arguments)
    known, tolerances = read_known()
    options = Options(
        samples=chosen.samples,
        dtypes=tuple(filter(None, chosen.dtypes.split(","))),
        tolerances=tuple(tolerances),
    )
    whole = (chosen.cases, chosen.dtypes, chosen.slice) == (".*", "", False)
    slices = json.loads((HERE / "slice.json").read_text()) if chosen.slice else {}
    if chosen.slice:
        options = dataclasses.replace(options, samples=4, dtypes=tuple(slices["dtypes"]))
    status = 0
    for database in chosen.databases or DATABASES:
        start = time.perf_counter()
        cases = "|".join(map(re.escape, slices[database])) if chosen.slice else chosen.cases
        outcomes = run_database(database, options, cases, chosen.jobs, chosen.timeout)
        if chosen.output:
            chosen.output.mkdir(parents=True, exist_ok=True)
            rows = [json.loads(outcome.dump()) for outcome in outcomes]
            (chosen.output / f"{database}.json").write_text(json.dumps(rows, indent=1))
        wrong = unexplained(database, outcomes, known, whole)
        print(*wrong, sep="\n", end="\n" if wrong else "")
        print(f"{summary(database, outcomes)}; {len(wrong)} unexplained", end=" ")
        print(f"({time.perf_counter() - start:.0f} s)", flush=True)
        status |= bool(wrong)
    return status


if __name__ == "__main__":
    sys.exit(main())
