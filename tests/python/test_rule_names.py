"""Every rule of the contract has a test that names it: `test_<rule>_<what>`."""

from __future__ import annotations

import ast
from pathlib import Path

RULES = {
    *(f"e{n}" for n in range(1, 5)),
    *(f"c{n}" for n in range(1, 7)),
    *(f"n{n}" for n in range(1, 12)),
    "d1",
    "d2",
    *(f"t{n}" for n in range(1, 5)),
    "k1",
    "k2",
    "i1",
    "p1",
}


def test_every_rule_is_named_by_a_test() -> None:
    named = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                named |= set(node.name.split("_")[1:3])
    assert named >= RULES, sorted(RULES - named)
