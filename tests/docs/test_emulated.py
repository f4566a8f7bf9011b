"""The table of what is emulated names a test in each row, or none; each named one exists."""

import re

from stranger import ROOT

PAGE = ROOT / "docs/guide/emulated.md"


def test_every_row_names_a_test_that_exists() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    named = [match for row in rows if (match := re.search(r"`([\w/]+\.py)::(\w+)` \|$", row))]
    assert len(named) > 25
    for match in named:
        text = (ROOT / "tests/emulator" / match[1]).read_text()
        assert re.search(rf"^def {match[2]}\b", text, re.M), match[0]
