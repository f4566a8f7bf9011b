"""What became of one case of a database. Written by the workers, read by the runner, as JSON."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field

STATUSES = "passed failed empty timeout crashed"


@dataclass
class Failure:
    """One sample that did not do what the CPU does."""

    dtype: str
    sample: int
    error: str


@dataclass
class Outcome:
    """What became of one case."""

    case: str
    status: str = "empty"
    seconds: float = 0.0
    passed: int = 0  # samples
    random: int = 0  # of those: compared without values
    backward: int = 0  # of those: with gradients
    refused: int = 0  # dtypes that only the CPU has
    left_out: int = 0  # the plain CPU fails too
    failed: int = 0
    failures: list[Failure] = field(default_factory=list)  # the first of each dtype

    def fail(self, dtype: object, sample: int, error: BaseException) -> None:
        """Note a sample that failed."""
        self.failed += 1
        name = str(dtype).removeprefix("torch.")
        if all(failure.dtype != name for failure in self.failures):
            words = " ".join(f"{type(error).__name__}: {error}".split())
            self.failures.append(Failure(name, sample, words[:400]))

    def close(self, seconds: float) -> Outcome:
        """Settle the status."""
        self.seconds = round(seconds, 2)
        self.status = (
            "failed" if self.failed else "passed" if self.passed or self.refused else "empty"
        )
        return self

    def dump(self) -> str:
        """Return one line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def load(line: str) -> Outcome:
        """Return what `dump` wrote."""
        fields = json.loads(line)
        return Outcome(**{**fields, "failures": [Failure(**row) for row in fields["failures"]]})
