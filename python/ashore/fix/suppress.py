"""Comments that silence reports: `# ashore: ignore`, `# ashore: ignore[TN101]`, `# noqa: TN101`."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ashore.fix.sites import Site
from ashore.fix.source import Source

_OURS = re.compile(r"#\s*ashore:\s*ignore(?:\[([^\]]*)\])?")
_NOQA = re.compile(r"#\s*noqa(?::\s*([A-Za-z0-9, ]+))?", re.IGNORECASE)
_ANY = re.compile(rb"#[^\r\n]*(?:ashore:|noqa)", re.IGNORECASE)
_NAMES_OURS = re.compile(rb"noqa:[ \ta-z0-9,]*tn")  # in lower case: to ignore case takes longer


@dataclass
class Suppression:
    """Hold one comment: where it is and which rules it names (None: all)."""

    line: int
    column: int
    rules: frozenset[str] | None
    ours: bool
    used: bool = False

    def unused(self) -> bool:
        """Tell whether it can go: a bare `# noqa` may be there for other tools."""
        return not self.used and (self.ours or self.names_ours())

    def names_ours(self) -> bool:
        """Tell whether it names rules of ashore."""
        return self.rules is not None and any(rule.startswith("TN") for rule in self.rules)


class Suppressions:
    """Hold the comments of a file and which of them silenced something."""

    def __init__(self, source: Source, sites: Sequence[Site]) -> None:
        """Read the comments, unless none can matter: reading tokens costs as much as the rest."""
        body = source.body.lower()
        matters = b"ashore:" in body or _NAMES_OURS.search(body) is not None
        matters = matters or any(_ANY.search(source.body_of(*site.lines)) for site in sites)
        self.all = list(_read(source)) if matters else []

    def silences(self, site: Site) -> bool:
        """Tell whether a comment on a site's lines silences it; that comment is then used."""
        first, last = site.lines
        for one in self.all:
            if first <= one.line <= last and (one.rules is None or site.rule in one.rules):
                one.used = True
                return True
        return False


def _read(source: Source) -> Iterator[Suppression]:
    import tokenize  # takes milliseconds, and is seldom needed

    lines = io.StringIO(source.body.decode(), newline=None).readline
    try:
        for token in tokenize.generate_tokens(lines):
            if token.type == tokenize.COMMENT:
                for pattern in (_OURS, _NOQA):
                    for match in pattern.finditer(token.string):
                        rules = None if match[1] is None else _names(match[1])
                        column = token.start[1] + match.start() + 1
                        yield Suppression(token.start[0], column, rules, pattern is _OURS)
    except (tokenize.TokenError, SyntaxError):
        return


def _names(text: str) -> frozenset[str]:
    return frozenset(part.upper() for part in re.split(r"[,\s]+", text) if part)
