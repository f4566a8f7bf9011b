"""`ashore.evaluation.report`, and the files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the report takes tensors")
pytest.importorskip("sklearn", reason="the report is scikit-learn's")
pytest.importorskip("matplotlib", reason="the picture is matplotlib's")

import matplotlib
import torch
from ashore._atomic import atomic_file
from ashore.evaluation import Report, report
from PIL import Image

TARGET = [0, 1, 2, 2]
PROBABILITY = [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]


def check(result: Report) -> None:
    assert result.accuracy == 0.75
    assert result.macro_f1 == pytest.approx((2 / 3 + 1 + 2 / 3) / 3)
    assert result.confusion.tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 1]]
    assert result.predicted.tolist() == [0, 1, 2, 0]
    assert result.confidence == pytest.approx([0.8, 0.5, 0.7, 0.6], abs=0.01)
    assert "macro avg" in str(result) and result.path is None


def test_report_takes_lists() -> None:
    check(report(TARGET, PROBABILITY))


def test_report_takes_arrays_and_leaves_them() -> None:
    target, probability = np.array(TARGET, np.uint8), np.array(PROBABILITY, np.float16)
    check(report(target, probability))
    assert np.array_equal(target, TARGET)
    assert np.array_equal(probability, np.array(PROBABILITY, np.float16))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_report_takes_tensors(dtype: torch.dtype) -> None:
    check(report(torch.tensor(TARGET), torch.tensor(PROBABILITY, dtype=dtype, requires_grad=True)))


def test_report_counts_classes_that_never_occur() -> None:
    result = report([0, 0], [[0.9, 0.1, 0], [0.9, 0.1, 0]])
    assert result.confusion.tolist() == [[2, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert (result.accuracy, result.macro_f1) == (1, 1)


@pytest.mark.parametrize(
    ("target", "probability", "part"),
    [
        (TARGET, [0.5, 0.5, 0.5, 0.5], "probability must have the shape (samples, classes)"),
        (TARGET, np.ones((4, 1)), "probability must have the shape (samples, classes)"),
        (np.zeros(0, int), np.ones((0, 3)), "probability must have the shape (samples, classes)"),
        (TARGET, np.full((4, 2), np.nan), "row 0 is not"),
        (TARGET, np.array(PROBABILITY) * [[1], [1], [-9], [1]], "row 2 does not (of logits take"),
        (TARGET, np.array(PROBABILITY) * [[1], [0.5], [1], [1]], "row 1 sums to 0.5"),
        (TARGET[:3], PROBABILITY, "target must have the shape (4,)"),
        ([TARGET], PROBABILITY, "target must have the shape (4,)"),
        (3, PROBABILITY, "target must have the shape (4,)"),
        ([0, 1, 2, 3], PROBABILITY, "target[3] is 3"),
        ([0, -1, 2, 2], PROBABILITY, "target[1] is -1"),
    ],
)
def test_report_names_what_does_not_fit(target: Any, probability: Any, part: str) -> None:
    with pytest.raises(ValueError) as error:
        report(target, probability)
    assert part in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("target", "probability", "part"),
    [
        ([0.0, 1.0, 2.0, 2.0], PROBABILITY, "target must hold class numbers (integers)"),
        (torch.tensor(TARGET), [torch.tensor(row) for row in PROBABILITY], "concatenate"),
        ("cats", PROBABILITY, "str"),
    ],
)
def test_report_names_the_wrong_kind(target: Any, probability: Any, part: str) -> None:
    with pytest.raises(TypeError) as error:
        report(target, probability)
    assert part in str(error.value)


@pytest.mark.parametrize("name", ["a.png", "b.svg", "c.pdf", "no suffix"])
def test_report_draws(tmp_path: Path, name: str) -> None:
    before = dict(matplotlib.rcParams)
    result = report(TARGET, PROBABILITY, tmp_path / name)
    assert dict(matplotlib.rcParams) == before
    assert result.path == tmp_path / name
    begins = {"b.svg": b"<?xml", "c.pdf": b"%PDF"}.get(name, b"\x89PNG")
    assert (tmp_path / name).read_bytes().startswith(begins)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_report_knows_its_formats(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no picture format is called \.docx: .*png"):
        report(TARGET, PROBABILITY, tmp_path / "a.docx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("classes", [2, 20, 30])
def test_report_draws_any_number_of_classes(tmp_path: Path, classes: int) -> None:
    report([classes - 1], np.eye(classes)[-1:], tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size[0] > picture.size[1] > 500


# ashore._atomic


def test_atomic_file_keeps_the_old_on_any_error(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), atomic_file(path) as file:
            file.write(b"half")
            raise error
        assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]
    with atomic_file(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert [p.read_text() for p in tmp_path.iterdir()] == ["new"]


def test_atomic_file_follows_links_and_refuses_the_rest(tmp_path: Path) -> None:
    link, fifo, folder = tmp_path / "link", tmp_path / "fifo", tmp_path / "folder"
    link.symlink_to("real")
    os.mkfifo(fifo)
    folder.mkdir()
    with atomic_file(link) as file:
        file.write(b"new")
    assert link.is_symlink() and (tmp_path / "real").read_text() == "new"
    for path in (fifo, folder):
        with pytest.raises(OSError) as error, atomic_file(path):
            pytest.fail("the block must not run")
        assert error.value.filename == str(path)
    assert len(list(tmp_path.iterdir())) == 4
