"""Each rule has a page: its wrong example is told, its right one is not, the repair is shown."""

from __future__ import annotations

import re

import pytest
from ashore.fix.check import check_content
from ashore.fix.dynamic.rules import RUN_RULES
from ashore.fix.pages import ids, page, title_of
from ashore.fix.project import Project
from ashore.fix.report import UNUSED
from ashore.fix.rules import RULES
from ashore.fix.sites import Level
from fixing import fixed_bytes

REPORTED_ONLY = {"TN001", "TN301"}


def examples(rule: str) -> dict[str, str]:
    return dict(re.findall(r"## (\w+)\n```python\n(.*?)```", page(rule), re.DOTALL))


def rules_told(code: str) -> set[str]:
    checked = check_content("program.py", code.encode(), Project())
    assert not checked.fault
    return {report.rule for report in checked.reports if report.level <= Level.LIKELY}


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    assert ids() == sorted([UNUSED, *RULES, *RUN_RULES])
    for rule, title in RUN_RULES.items():
        assert title_of(rule) == title
    for rule in RULES.values():
        assert title_of(rule.id) == rule.title


@pytest.mark.parametrize("rule", sorted({*ids()} - {*RUN_RULES}))
def test_the_wrong_example_is_told_and_the_right_one_is_not(rule: str) -> None:
    parts = examples(rule)
    assert rules_told(parts["Wrong"]) == {rule}
    assert rules_told(parts["Right"]) == set()


@pytest.mark.parametrize("rule", sorted({*ids()} - {*RUN_RULES}))
def test_the_repair_is_the_one_shown(rule: str) -> None:
    parts = examples(rule)
    repaired = fixed_bytes(parts["Wrong"].encode(), unsafe=True).decode()
    if rule in REPORTED_ONLY:
        assert repaired == parts["Wrong"]
    else:
        assert repaired == parts.get("Repaired", parts["Right"])
        assert rules_told(repaired) == set()
