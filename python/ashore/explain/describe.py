"""Show explanations: as text for a terminal, as plain data for JSON."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ashore.cli.text import escape
from ashore.explain.explanation import Explanation

_WIDTH = 92
_MOST_SHOWN = 300

Paint = Callable[[str, str], str]


def as_data(one: Explanation) -> dict[str, Any]:
    """Return an explanation as JSON has it."""
    data = one._asdict()
    names = ("file", "line", "function", "source")
    data["frame"] = {name: data.pop(name) or None for name in names}
    data["frame"]["installed"] = data.pop("installed")
    data["expression"] = one.expression or None
    data["page"] = page_of(one.rule)
    return data


def page_of(rule: str | None) -> str | None:
    """Return the command that shows the rule's page, if this installation has it."""
    pages = os.path.join(os.path.dirname(os.path.dirname(__file__)), "fix", "pages")
    if rule is None or (
        os.path.isdir(pages) and not os.path.exists(os.path.join(pages, f"{rule}.md"))
    ):
        return None
    return f"ashore rule {rule}"


def as_text(one: Explanation, paint: Paint) -> str:
    """Return an explanation as a few lines."""
    lines = [*_where(one, paint), ""]
    if one.expression:
        lines += _labelled("wrong", [_cut(one.expression)], paint, "red")
    if one.others:
        lines += _labelled("or", [_cut(other) for other in one.others[:4]], paint, "red")
    lines += _labelled("why", wrapped(escape(one.cause), _WIDTH - 9), paint, "")
    repair = [_cut(line) for line in one.repair.split("\n") if line.strip()]
    lines += _labelled("write", repair, paint, "green")
    page = page_of(one.rule)
    if page:
        lines += _labelled("more", [page], paint, "cyan")
    return "\n".join(lines)


def wrapped(text: str, width: int) -> list[str]:
    """Break a text at spaces. (The import of textwrap costs more than the rest of this file.)"""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines


def _where(one: Explanation, paint: Paint) -> list[str]:
    ranks = f"rank {', '.join(one.ranks)}: " if one.ranks else ""
    if not one.file:
        return [f"{ranks}no frame of your own code in this text; paste the lines above it too"]
    where = one.file + (f":{one.line}" if one.line else "")
    function = f", in {one.function}" if one.function and one.function != "<module>" else ""
    library = " (an installed package; none of your own is in the text)" if one.installed else ""
    head = f"{ranks}{paint(escape(_short(where)), 'bold')}{escape(function)}{library}"
    return [head, f"    {_cut(one.source)}"] if one.source else [head]


def _short(where: str) -> str:
    here = os.getcwd().rstrip(os.sep) + os.sep
    return where.removeprefix(here)


def _cut(text: str) -> str:
    text = escape(text)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


def _labelled(label: str, lines: list[str], paint: Paint, style: str) -> list[str]:
    shown = [paint(line, style) if style else line for line in lines]
    head = f"  {label:<7}"
    return [f"{head if at == 0 else ' ' * len(head)}{line}" for at, line in enumerate(shown)]
