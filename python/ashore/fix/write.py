"""Repair files on disk: what the command `ashore fix` does, without its printing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ashore._atomic import atomic_file
from ashore.fix.check import Fault
from ashore.fix.config import Settings
from ashore.fix.edits import Refused
from ashore.fix.files import find_files
from ashore.fix.prefilter import may_have_sites
from ashore.fix.project import Project
from ashore.fix.repair import Repair, repair
from ashore.fix.report import Report, report_of
from ashore.fix.source import Unreadable, read_source


@dataclass(frozen=True)
class Fixed:
    """Hold what was done to one file, or would be."""

    path: str
    before: bytes
    after: bytes
    repaired: int
    left: tuple[Report, ...]


def fix_paths(
    paths: Sequence[str], settings: Settings, *, unsafe: bool, write: bool
) -> Iterator[Fixed | Fault]:
    """Repair all files that the paths stand for; a file is written whole or not at all."""
    for found in find_files(paths, settings):
        if isinstance(found, OSError):
            yield Fault(str(found.filename), found.strerror or str(found))
            continue
        result = _fix_file(found.path, settings, unsafe, write)
        if result is not None:
            yield result


def _fix_file(path: str, settings: Settings, unsafe: bool, write: bool) -> Fixed | Fault | None:
    try:
        with open(path, "rb") as file:
            raw = file.read()
        if not may_have_sites(path, raw):
            return None
        source = read_source(path, raw)
        # A repair changes what other files see of this one: nothing is remembered between files.
        done = repair(source, Project(), settings.level, unsafe, lambda r: settings.wants(r, path))
        if write and done.raw != raw:
            _write(path, raw, done)
    except OSError as error:
        return Fault(path, error.strerror or str(error))
    except (Unreadable, Refused) as error:
        return Fault(path, str(error))
    except RecursionError:
        return Fault(path, "too deeply nested to be followed")
    left = (report_of(done.source, site) for site in done.left)
    wanted = tuple(report for report in left if settings.tells(report))
    return Fixed(path, raw, done.raw, len(done.repaired), wanted)


def _write(path: str, before: bytes, done: Repair) -> None:
    with open(path, "rb") as file:
        if file.read() != before:
            raise Refused("it was changed meanwhile")
    mode = os.stat(path).st_mode & 0o7777
    with atomic_file(path) as file:
        file.write(done.raw)
        os.fchmod(file.fileno(), mode)
