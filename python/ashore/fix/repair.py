"""Repair one file: infer, plan and edit until nothing is left to edit, and prove each step."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ashore.fix.edits import Refused, apply
from ashore.fix.infer.module import Module
from ashore.fix.planner import Plan, plan
from ashore.fix.project import Project
from ashore.fix.proof import prove
from ashore.fix.rules import find_sites
from ashore.fix.sites import Level, Site
from ashore.fix.source import Source, Unreadable, read_source
from ashore.fix.suppress import Suppressions

_MOST_ROUNDS = 4
_IN_TESTS = re.compile(r"(^|/)(tests?|testing)/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.(py|ipynb)$")


@dataclass(frozen=True)
class Repair:
    """Hold a file as it is now, the sites that were repaired, and those that are left."""

    source: Source
    repaired: tuple[Site, ...]
    left: tuple[Site, ...]

    @property
    def raw(self) -> bytes:
        """Return the file's new bytes."""
        return self.source.raw


def repair(
    source: Source,
    project: Project,
    level: Level,
    unsafe: bool,
    wants: Callable[[str], bool] = lambda rule: True,
) -> Repair:
    """Return the file with the wanted rules' sites repaired.

    Raises Refused, with nothing changed, if each repair asks for another one.
    """
    repaired: list[Site] = []
    for _ in range(_MOST_ROUNDS):
        sites = [site for site in sites_of(source, project) if wants(site.rule)]
        planned = plan(source, sites, level, unsafe)
        if not planned.edits:
            return Repair(source, tuple(repaired), tuple(sites))
        new = edited(source, planned)
        repaired += planned.sites
        source = new
    raise Refused("each repair asks for another one")


def edited(source: Source, planned: Plan) -> Source:
    """Return the file with the edits made and proven; raises Refused."""
    try:
        new = read_source(source.path, source.edited(planned.edits))
    except Unreadable as error:
        raise Refused(f"the edited text would not be Python ({error})") from error
    if new.body != apply(source.body, planned.edits):
        raise Refused("the edited text would not be what was planned")
    prove(source, new, planned.edits, planned.rewritten)
    return new


def sites_of(source: Source, project: Project) -> list[Site]:
    """Return the sites of a file that no comment silences; in tests one level lower."""
    run, _ = project.infer(Module(source))
    sites = find_sites(run)
    if not sites:
        return sites
    silenced = Suppressions(source, sites)
    return lowered(source.path, [site for site in sites if not silenced.silences(site)])


def lowered(path: str, sites: list[Site]) -> list[Site]:
    """Return the sites of a test one level lower: most bare `.numpy()` there is deliberate."""
    if not _IN_TESTS.search(path):
        return sites
    return [
        site._replace(level=Level(site.level + 1)) for site in sites if site.level < Level.MAYBE
    ]
