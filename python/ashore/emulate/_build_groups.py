"""Which sources are compiled as one: PyTorch's headers take far longer than the sources themselves.

Files that define the same name at the left margin, say two helpers in anonymous namespaces, never
come together. A group that does not compile is compiled file by file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

# A definition at the left margin: the name before its parameters, value, body or array bound.
_DEFINITION = re.compile(
    r"^(?:#define\s+(\w+)|(?!using|return|template\b[^\n]*>\s*$|namespace|#|//|\}|extern \"C\" \{)"
    r"[A-Za-z_][^\n(={;]*?\b(\w+)(?:\[[^\]\n]*\])*\s*[(={;])",
    re.MULTILINE,
)


def names_in(text: str) -> set[str]:
    """Return the names that a source defines at the left margin, and perhaps a few more."""
    return {first or second for first, second in _DEFINITION.findall(text)} - {"Object", "void"}


def make_groups(files: Sequence[Path], count: int) -> list[list[Path]]:
    """Divide files into `count` groups of about the same size, or more where names collide."""
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    groups: list[tuple[int, set[str], list[Path]]] = [(0, set(), []) for _ in range(count)]
    for path in sorted(files, key=lambda path: (-len(texts[path]), path)):
        names = names_in(texts[path])
        fitting = [group for group in groups if not names & group[1]]
        size, taken, members = min(fitting, key=lambda group: group[0], default=(0, set(), []))
        groups = [group for group in groups if group[2] is not members]
        groups.append((size + len(texts[path]), taken | names, [*members, path]))
    return [sorted(members) for _, _, members in groups if members]


def write_group(members: Sequence[Path], where: Path) -> None:
    """Write a source that includes all members."""
    where.write_text("".join(f'#include "{path}"\n' for path in members))
