"""Look into one file: parse, infer, ask the rules; what check does with a file that may have sites.

Loading this module takes a third of the time of a start, so check does that late.
"""

from __future__ import annotations

from typing import NamedTuple

from ashore.fix.infer.module import Module
from ashore.fix.project import Project
from ashore.fix.repair import lowered
from ashore.fix.report import Report, report_of, unused_report
from ashore.fix.rules import find_sites
from ashore.fix.source import Unreadable, read_source
from ashore.fix.suppress import Suppressions


class Examined(NamedTuple):
    """Hold what was found in a file, or why it could not be read."""

    reports: tuple[Report, ...] = ()
    fault: str = ""
    rests_on: tuple[str, ...] = ()  # other files of the project


def examine(path: str, raw: bytes, project: Project) -> Examined:
    """Examine one file's bytes."""
    try:
        source = read_source(path, raw)
        run, rests_on = project.infer(Module(source))
        sites = find_sites(run)
        reports = []
        if sites or b"ashore:" in raw or b"noqa" in raw:
            silenced = Suppressions(source, sites)
            sites = lowered(path, [site for site in sites if not silenced.silences(site)])
            reports = [report_of(source, site) for site in sites]
            reports += [unused_report(source, one) for one in silenced.all if one.unused()]
        return Examined(tuple(reports), "", tuple(sorted(rests_on)))
    except Unreadable as error:
        return Examined(fault=str(error))
    except RecursionError:
        return Examined(fault="too deeply nested to be followed")
