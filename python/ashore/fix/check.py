"""Check files: what the command `ashore check` does, without its printing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ashore.fix.cache import Cache, Entry
from ashore.fix.config import Settings
from ashore.fix.digest import digest_of
from ashore.fix.files import Found, find_files
from ashore.fix.prefilter import may_have_sites
from ashore.fix.project import Project
from ashore.fix.report import Report

_WORTH_A_PROCESS = 40  # files
_CHUNK = 12


class Fault(NamedTuple):
    """Say why a file could not be checked."""

    path: str
    reason: str


class Checked(NamedTuple):
    """Hold what came out for one file."""

    path: str
    digest: str
    lines: int
    reports: tuple[Report, ...] = ()
    fault: str = ""
    rests_on: tuple[str, ...] = ()  # other files of the project


def check_content(path: str, raw: bytes, project: Project) -> Checked:
    """Check one file's bytes."""
    digest, lines = digest_of(raw), raw.count(b"\n")
    if not (may_have_sites(path, raw) or b"ashore: ignore" in raw):
        return Checked(path, digest, lines)
    from ashore.fix.examine import examine

    return Checked(path, digest, lines, *examine(path, raw, project))


def check_paths(
    paths: Sequence[str],
    settings: Settings,
    cache: Cache | None,
    jobs: int,
    progress: Callable[[int, int], None],
) -> Iterator[Checked | Fault]:
    """Check all files that the paths stand for, those that have not changed from the cache."""
    todo: list[Found] = []
    for found in find_files(paths, settings):
        if isinstance(found, OSError):
            yield Fault(str(found.filename), found.strerror or str(found))
            continue
        known = cache.find(found) if cache is not None else None
        if known is None:
            todo.append(found)
        else:
            yield _from_entry(found.path, known)
    for done, (found, checked) in enumerate(_check_all(todo, jobs), 1):
        progress(done, len(todo))
        if cache is not None and isinstance(checked, Checked):
            cache.add(found, _to_entry(checked))
        yield checked


def _check_all(todo: list[Found], jobs: int) -> Iterator[tuple[Found, Checked | Fault]]:
    if jobs <= 1 or len(todo) < _WORTH_A_PROCESS:
        project = Project()
        for found in todo:
            yield found, check_file(found.path, project)
        return
    import multiprocessing

    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in methods else None)
    chunks = [todo[at : at + _CHUNK] for at in range(0, len(todo), _CHUNK)]
    with context.Pool(jobs, _prepare) as pool:
        names = [[found.path for found in chunk] for chunk in chunks]
        for chunk, results in zip(chunks, pool.imap(_check_chunk, names), strict=True):
            yield from zip(chunk, results, strict=True)


_project: Project | None = None


def _prepare() -> None:
    import signal
    import warnings

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    warnings.simplefilter("ignore")
    without_collector()


def without_collector() -> None:
    """Switch the garbage collector off: trees are many objects and no rubbish."""
    import gc

    gc.disable()


def _check_chunk(paths: list[str]) -> list[Checked | Fault]:
    global _project
    if _project is None:
        _project = Project()
    return [check_file(path, _project) for path in paths]


def check_file(path: str, project: Project) -> Checked | Fault:
    """Read and check one file."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError as error:
        return Fault(path, error.strerror or str(error))
    return check_content(path, raw, project)


def _to_entry(checked: Checked) -> Entry:
    return Entry(checked.digest, checked.lines, checked.reports, checked.fault, checked.rests_on)


def _from_entry(path: str, entry: Entry) -> Checked:
    return Checked(path, entry.digest, entry.lines, entry.reports, entry.fault, entry.rests_on)


def told(results: Iterable[Checked], settings: Settings) -> list[Report]:
    """Return the reports that the settings want, in order."""
    reports = [one for checked in results for one in checked.reports if settings.tells(one)]
    return sorted(reports, key=lambda r: (r.path, r.cell, r.line, r.column, r.rule))


def processes() -> int:
    """Return how many processes may run at once."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
