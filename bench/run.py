"""Measure ashore against its rivals and print the table: `./dev bench`.

The exit code says whether it ran, never how fast: figures of a shared machine decide nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import call_overhead
import checking
import emulated
import kernels
import start_up
from measure import QUICK, Effort, Outcome, Row, measure
from report import as_json, environment, table

TOPICS = {
    "Call overhead": call_overhead,
    "Start-up": start_up,
    "Kernels": kernels,
    "The emulated GPU": emulated,
    "Checking programs": checking,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the rows that were asked for; return 0."""
    options = _parser().parse_args(argv)
    chosen = _choose(_rows(QUICK if options.quick else Effort()), options.rows)
    outcomes: list[Outcome] = []
    for topic, row in chosen:
        if sys.stderr.isatty():
            print(f"\r\033[K{topic}: {row.name}", end="", file=sys.stderr, flush=True)
        outcomes.append(measure(topic, row))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(", ".join(f"{name} {value}" for name, value in environment().items()))
    print(table(outcomes))
    if options.json:
        options.json.write_text(json.dumps(as_json(outcomes), indent=2) + "\n", encoding="utf-8")
    if options.chart:
        from chart import draw

        draw(outcomes, options.chart)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev bench", description=(__doc__ or "").split(":")[0])
    parser.add_argument("--quick", "--smoke", action="store_true", help="only show that it runs")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="measure these rows alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draw the ratios (png, svg)")
    return parser


def _rows(effort: Effort) -> list[tuple[str, Row]]:
    return [(name, row) for name, topic in TOPICS.items() for row in topic.rows(effort)]


def _choose(rows: Sequence[tuple[str, Row]], names: Sequence[str] | None) -> list[tuple[str, Row]]:
    known = [row.name for _, row in rows]
    if unknown := [name for name in names or () if name not in known]:
        sys.exit(f"bench: no row is called {', '.join(unknown)}; there are: {' '.join(known)}")
    return [(topic, row) for topic, row in rows if not names or row.name in names]


if __name__ == "__main__":
    sys.exit(main())
