"""Tracebacks of many printers: the frame, the expression, the repair and the rule that are named.

Each file of `tracebacks/` says above its `---` how it was made and what is expected; there may
be several right repairs. The texts come from runs on the emulated GPU, of Python 3.10 to 3.13
(these with a stand-in for torch), IPython and pytest; `text` ones follow old wordings.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from ashore.explain.explanation import explain

FILES = sorted((Path(__file__).parent / "tracebacks").glob("*.txt"))


def parts(path: Path) -> tuple[dict[str, list[str]], str]:
    with path.open(encoding="utf-8", newline="") as file:
        head, _, text = file.read().partition("\n---\n")
    expected: dict[str, list[str]] = {}
    for line in head.split("\n"):
        key, _, value = line.partition(":")
        expected.setdefault(key, []).append(value.strip())
    return expected, text


def test_there_are_many() -> None:
    assert len(FILES) >= 60


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_traceback(path: Path) -> None:
    expected, text = parts(path)
    (one,) = explain(text, None)
    file, _, line = expected["frame"][0].rpartition(":")
    assert one.file.replace("\\", "/").endswith(file) and str(one.line) == line
    assert expected["wrong"][0] in (one.expression, *one.others)
    assert one.repair in expected["write"]
    assert (one.rule or "") == expected["rule"][0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_text_that_is_cut_or_garbled_ends_in_an_answer(path: Path) -> None:
    _, text = parts(path)
    draw = random.Random(path.stem)
    for _ in range(30):
        begin, end = sorted(draw.choices(range(len(text) + 1), k=2))
        explain(text[begin:end], None)
        lines = text.split("\n")
        draw.shuffle(lines)
        explain("\n".join(lines), None)
        explain("".join(c for c in text if draw.random() > 0.02), None)
