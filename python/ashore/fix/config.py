"""`[tool.ashore]` of pyproject.toml and what the command line adds to it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from typing import Any

from ashore.fix.report import UNUSED, Report
from ashore.fix.sites import Level

_KEYS = ("select", "ignore", "per-file-ignores", "exclude", "level")
LEVELS = {level.word: level for level in Level}


class BadConfig(Exception):
    """Say in one line what is wrong with a setting."""


@dataclass(frozen=True)
class Settings:
    """Hold what is to be told, and of which files."""

    root: str
    level: Level = Level.LIKELY
    select: tuple[str, ...] = ("TN",)  # prefixes of rule ids
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()

    def with_options(
        self, level: str | None, select: Iterable[str], ignore: Iterable[str]
    ) -> Settings:
        """Return these settings with what the command line says; it wins."""
        chosen = tuple(_rules("--select", select))
        return replace(
            self,
            level=LEVELS[level] if level else self.level,
            select=chosen or self.select,
            ignore=(*self.ignore, *_rules("--ignore", ignore)),
        )

    def tells(self, report: Report) -> bool:
        """Tell whether a report is wanted."""
        return report.level <= self.level and self.wants(report.rule, report.path)

    def wants(self, rule: str, path: str) -> bool:
        """Tell whether reports of a rule are wanted for a file."""
        if not rule.startswith(self.select) or (self.ignore and rule.startswith(self.ignore)):
            return False
        for pattern, rules in self.per_file_ignores.items():
            if rule.startswith(rules) and matches(self.relative(path), pattern):
                return False
        return True

    def excludes(self, path: str) -> bool:
        """Tell whether a file or folder is left out."""
        return any(matches(self.relative(path), pattern) for pattern in self.exclude)

    def relative(self, path: str) -> str:
        """Return a path as seen from where pyproject.toml is."""
        return os.path.relpath(path, self.root)


def matches(path: str, pattern: str) -> bool:
    """Tell whether a relative path fits: a whole pattern, a file name, or a folder above it."""
    pattern = pattern.rstrip("/")
    parts = path.split(os.sep)
    above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    if "/" not in pattern:
        return any(fnmatch(part, pattern) for part in parts)
    return any(fnmatch(folder, pattern) for folder in above)


def find_settings(start: str) -> Settings:
    """Return the settings of the nearest pyproject.toml that has some, from a path upwards."""
    folder = os.path.abspath(start)
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    first = folder
    while True:
        path = os.path.join(folder, "pyproject.toml")
        table = _read(path) if os.path.isfile(path) else None
        if table is not None:
            return _settings(path, folder, table)
        above = os.path.dirname(folder)
        if above == folder:
            return Settings(first)
        folder = above


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:
            content = file.read()
        if b"ashore" not in content:
            return None
        import tomllib  # takes milliseconds, as the rules do below

        table = tomllib.loads(content.decode()).get("tool", {}).get("ashore")
    except (OSError, ValueError) as error:
        raise BadConfig(f"{path}: {error}") from error
    if table is not None and not isinstance(table, dict):
        raise BadConfig(f"{path}: [tool.ashore] must be a table")
    return table


def _settings(path: str, folder: str, table: dict[str, Any]) -> Settings:
    for key in table:
        if key not in _KEYS:
            raise BadConfig(
                f"{path}: [tool.ashore] has no setting {key!r}; it knows {', '.join(_KEYS)}"
            )
    level = table.get("level", "likely")
    if level not in LEVELS:
        raise BadConfig(f"{path}: level must be sure, likely or maybe, not {level!r}")
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise BadConfig(f"{path}: per-file-ignores must be a table of patterns")
    return Settings(
        folder,
        LEVELS[level],
        tuple(_rules(path, _words(path, table, "select"))) or ("TN",),
        tuple(_rules(path, _words(path, table, "ignore"))),
        {pattern: tuple(_rules(path, _words(path, per_file, pattern))) for pattern in per_file},
        tuple(_words(path, table, "exclude")),
    )


def _words(path: str, table: dict[str, Any], key: str) -> list[str]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise BadConfig(f"{path}: {key} must be a list of strings")
    return value


def _rules(where: str, names: Iterable[str]) -> Iterable[str]:
    for name in names:
        from ashore.fix.rules import RULES

        for one in name.replace(",", " ").split():
            rule = one.upper()
            if not any(known.startswith(rule) for known in (*RULES, UNUSED)):
                raise BadConfig(f"{where}: there is no rule {one!r}; they are {', '.join(RULES)}")
            yield rule
