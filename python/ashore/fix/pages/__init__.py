"""The pages of the rules, one Markdown file each; `ashore rule ID` prints them.

A page begins with `# ID title` and has a `## Wrong`, a `## Right` and, where the repair is not the
right example itself, a `## Repaired` block, which the tests run.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


def ids() -> list[str]:
    """Return the ids of all rules that have a page."""
    return sorted(path.stem for path in _FOLDER.glob("TN*.md"))


@cache
def page(rule: str) -> str:
    """Return the page of a rule; KeyError if there is none."""
    if rule not in ids():
        raise KeyError(rule)
    return (_FOLDER / f"{rule}.md").read_text(encoding="utf-8")


def title_of(rule: str) -> str:
    """Return the title of a rule."""
    return page(rule).partition("\n")[0].removeprefix(f"# {rule} ")
