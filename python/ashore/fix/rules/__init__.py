"""The rules. To add one: a file `tn….py` that makes a `RULE`, a line here, a page in `pages/`.

A rule looks at one kind of meeting (`meetings.py`) and yields sites (`sites.py`).
"""

from __future__ import annotations

from ashore.fix.infer.scope import Run
from ashore.fix.rules import (
    tn101,
    tn102,
    tn103,
    tn201,
    tn202,
    tn203,
    tn204,
    tn205,
    tn301,
    tn401,
    tn402,
)
from ashore.fix.rules.rule import Rule
from ashore.fix.sites import Site, by_position

RULES: dict[str, Rule] = {
    module.RULE.id: module.RULE
    for module in (
        tn101,
        tn102,
        tn103,
        tn201,
        tn202,
        tn203,
        tn204,
        tn205,
        tn301,
        tn401,
        tn402,
    )
}


def find_sites(run: Run) -> list[Site]:
    """Return what the rules find in the meetings of a module, in the order of the text."""
    sites: dict[tuple[str, int, int], Site] = {}
    for meeting in run.meetings.values():
        for rule in RULES.values():
            if isinstance(meeting, rule.meetings):
                for site in rule.check(run, meeting):
                    at = (site.rule, *site.span)
                    if at not in sites or site.level < sites[at].level:
                        sites[at] = site
    return sorted(sites.values(), key=by_position)
