"""From text to explanations: which failure, whose frame, which expression, what to write."""

from __future__ import annotations

import re
from typing import NamedTuple

from ashore.explain.families import find
from ashore.explain.frames import Failure, Frame
from ashore.explain.guilty import operation
from ashore.explain.origins import Origins
from ashore.explain.owner import is_installed, user_frame
from ashore.explain.read import read
from ashore.explain.repair import Case, Found, fill
from ashore.explain.source import Folder
from ashore.explain.statement import shown_source, statement_of
from ashore.explain.wordings import WORDINGS, Wording

_MOST = 20
_MOST_LOOKED_AT = 200  # a log may hold the same error thousands of times


class Explanation(NamedTuple):
    """What went wrong where, why, and what to write instead; empty where it is not known."""

    error: str
    message: str
    file: str
    line: int | None
    function: str
    source: str
    installed: bool
    expression: str
    others: tuple[str, ...]
    cause: str
    repair: str
    rule: str | None
    ranks: tuple[str, ...]


def explain(text: str, folder: str | None) -> list[Explanation]:
    """Return an explanation for each known error in the text, in its order.

    Lines of source that the text lacks are read from files below `folder`, if one is given.
    """
    files = Folder(folder)
    made: dict[tuple[object, ...], Explanation] = {}
    known = _known(read(text)) or _anywhere(text)
    for failure, wording, groups in known[-_MOST_LOOKED_AT:]:
        one = _explained(failure, wording, groups, files)
        key = one[2:-1]
        ranks = made[key].ranks if key in made else ()
        if failure.rank and failure.rank not in ranks:
            ranks = (*ranks, failure.rank)
        made[key] = one._replace(ranks=ranks)
    # One of several processes may have been cut off before its frames.
    whole = [one for one in made.values() if one.file]
    return (whole or list(made.values()))[-_MOST:]


def match(message: str, below: str = "") -> tuple[Wording, dict[str, str]] | None:
    """Return the first wording of the message and the last frame's line, with what it names."""
    for wording in WORDINGS:
        if wording.needle in message:
            found = re.search(wording.pattern, message)
            if found and (not wording.below or re.search(wording.below, below)):
                return wording, {k: v for k, v in found.groupdict().items() if v is not None}
    return None


_Known = tuple[Failure, Wording, dict[str, str]]


def _known(failures: list[Failure]) -> list[_Known]:
    """Return one known failure of each chain: the last, or the direct cause of it."""
    chains: list[list[Failure]] = []
    for failure in failures:
        if failure.link and chains:
            chains[-1].append(failure)
        else:
            chains.append([failure])
    chosen = [_chosen(chain) for chain in chains]
    return [one for one in chosen if one is not None]


def _chosen(chain: list[Failure]) -> _Known | None:
    matches = [match(_one_line(one.message), _last_line(one)) for one in chain]
    at = next((i for i in reversed(range(len(chain))) if matches[i]), None)
    if at is None:
        return None
    while at > 0 and chain[at].link == "cause" and matches[at - 1]:
        at -= 1
    found = matches[at]
    assert found is not None
    failure = chain[at]
    # The frames above a `try` are told by the exception that came of it.
    for later in chain[at + 1 :]:
        here = user_frame(failure.frames)
        if here is None or is_installed(failure.frames[here]):
            failure = failure._replace(frames=later.frames + failure.frames)
    return failure, *found


def _last_line(failure: Failure) -> str:
    return failure.frames[-1].source if failure.frames else ""


def _anywhere(text: str) -> list[_Known]:
    """Find a wording in text whose frames, or whose end, are not to be made out."""
    found = match(_one_line(text[-200_000:]))
    if found is None:
        return []
    failures = [f for f in read(text) if user_frame(f.frames) is not None]
    frames = failures[-1].frames if failures else ()
    return [(Failure(frames, "", ""), *found)]


def _one_line(text: str) -> str:
    return " ".join(text.replace("\u2019", "'").split())


def _explained(
    failure: Failure, wording: Wording, groups: dict[str, str], files: Folder
) -> Explanation:
    cause = wording.cause.format_map(_Groups(groups))
    at = user_frame(failure.frames)
    frame = failure.frames[at] if at is not None else None
    found = None
    if frame is not None and at is not None:
        found = _find(frame, failure.frames[at + 1 :], wording, groups, files)
    if found is None:
        found = Found("", _generic(wording), wording.rule)
    frame = frame or Frame("", None)
    return Explanation(
        failure.error,
        _one_line(failure.message),
        frame.file,
        frame.line,
        frame.function,
        shown_source(frame, files).split("\n")[0].strip(),
        bool(frame.file) and is_installed(frame),
        found.expression,
        found.others,
        cause,
        found.repair,
        found.rule or wording.rule,
        (),
    )


class _Groups(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "other"


def _find(
    frame: Frame,
    deeper: tuple[Frame, ...],
    wording: Wording,
    groups: dict[str, str],
    files: Folder,
) -> Found | None:
    statement = statement_of(frame, files)
    if statement is None:
        return None
    if frame.source.startswith(".") and statement.module is None:  # the end of a chain
        suffix = wording.repair.removeprefix("{x}")
        return Found("", suffix + frame.source) if suffix != wording.repair else None
    case = Case(
        wording,
        groups,
        statement,
        frame,
        deeper,
        operation(statement, frame, deeper),
        Origins(statement, frame),
    )
    found = find(wording.family, case)
    if found is None and case.operation is not None:
        found = find(wording.family, case._replace(operation=None))
    return found


def _generic(wording: Wording) -> str:
    """Return the repair where the expression is not known."""
    repair = wording.repair
    if wording.family == "array" and wording.repair.startswith("{x}."):
        repair += ".numpy()"
    names = {"{device}": "device", "{dtype}": "torch.float32", "{script}": "script.py"}
    for name, text in names.items():
        repair = repair.replace(name, text)
    return fill(repair.replace("{line}", "..."), "x")
