"""What a run of the databases is asked for, and what is known of its results beforehand."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KNOWN = Path(__file__).with_name("known.toml")


@dataclass(frozen=True)
class Options:
    """How a database is to be run; the workers get it as JSON."""

    samples: int = 40  # per dtype, at most
    dtypes: tuple[str, ...] = ()  # none: all
    forward_only: bool = False
    tolerances: tuple[dict[str, Any], ...] = field(default=())

    def tolerance(self, case: str, dtype: object) -> tuple[float, float] | None:
        """Return (rtol, atol) where they are known to differ from the usual ones."""
        for row in self.tolerances:
            if row["case"] == case and str(dtype).removeprefix("torch.") in row["dtypes"]:
                return row["rtol"], row["atol"]
        return None

    def dump(self) -> str:
        """Return JSON."""
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def load(text: str) -> Options:
        """Return what `dump` wrote."""
        fields = json.loads(text)
        return Options(
            **{name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
        )


@dataclass(frozen=True)
class Known:
    """A case that is known to fail, and why."""

    database: str
    case: str
    reason: str
    error: str  # what every failure must say: a regular expression
    dtypes: tuple[str, ...] = ()  # none: any

    def explains(self, dtype: str, error: str) -> bool:
        """Tell whether this row is about that failure."""
        return (not self.dtypes or dtype in self.dtypes) and bool(re.search(self.error, error))


def read_known(path: Path = KNOWN) -> tuple[list[Known], list[dict[str, Any]]]:
    """Return the known failures, and the rows of tolerances."""
    with path.open("rb") as file:
        table = tomllib.load(file)
    rows = [
        Known(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()})
        for row in table.get("failure", [])
    ]
    for row in table.get("tolerance", []):
        assert row["reason"], row
    assert all(row.reason for row in rows)
    return rows, table.get("tolerance", [])
