"""The main job, `ashore demo`, in real processes; and the report that it is made with."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the demo trains with PyTorch")
pytest.importorskip("sklearn", reason="the report is scikit-learn's")
pytest.importorskip("matplotlib", reason="the picture is matplotlib's")

import matplotlib
import torch
from ashore._atomic import atomic_file
from ashore.cli.errors import JobFailed
from ashore.demo import conversions, job
from ashore.evaluation import Report, report
from PIL import Image

FILES = {"evaluation_results.png", "predictions.npy", "probabilities.npy"}
OPTIONS = ("--epochs", "2", "--seed", "7")
CONVERSIONS = [
    ("a device tensor", "to_numpy"),
    ("one with gradient", "to_numpy"),
    ("a model's output", "to_numpy"),
    ("under no_grad", "to_numpy"),
    ("a batch of several", "tensors_to_numpy"),
    ("NumPy to the device", "to_torch"),
]


def python(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
    )


def demo(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return python("-m", "ashore", "demo", *args, cwd=cwd)


def is_one_line(text: str) -> bool:
    return text.startswith("ashore: ") and text.count("\n") == 1 and text.endswith("\n")


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the demo for people in an empty folder; return the folder and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    done = demo(*OPTIONS, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "ashore-demo", done.stdout


@pytest.fixture(scope="module")
def arrays(story: tuple[Path, str]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    folder, _ = story
    return np.load(folder / "predictions.npy"), np.load(folder / "probabilities.npy")


@pytest.fixture(scope="module")
def again(story: tuple[Path, str], arrays: object) -> dict[str, Any]:
    """Run it once more into the same folder, for a program."""
    folder, _ = story
    before = {name: (folder / name).stat().st_ino for name in FILES}
    done = demo(*OPTIONS, "--json", "--out", "ashore-demo", cwd=folder.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert all((folder / name).stat().st_ino != inode for name, inode in before.items())
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_tells_the_story(story: tuple[Path, str]) -> None:
    folder, said = story
    if not torch.cuda.is_available():
        assert said.count("no CUDA device here: running on the CPU") == 1
    parts = ["epoch 1/2", "epoch 2/2", "precision", "macro avg", "confusion matrix"]
    parts += [f"ashore-demo{os.sep}{name}" for name in sorted(FILES)]
    parts += ["ashore did", *(name for name, _ in CONVERSIONS), "done in"]
    at = [said.index(part) for part in parts]
    assert at == sorted(at)
    assert "WRONG" not in said
    assert all(line.isprintable() for line in said.splitlines())
    assert max(map(len, said.splitlines())) <= 80 or torch.cuda.is_available()
    assert {path.name for path in folder.iterdir()} == FILES, "nothing else is left behind"


def test_picture(story: tuple[Path, str]) -> None:
    folder, _ = story
    with Image.open(folder / "evaluation_results.png") as picture:
        picture.load()
        assert picture.format == "PNG"
        width, height = picture.size
        assert 1200 <= width <= 4000 and 500 <= height <= 2000
        for half in ((0, 0, width // 2, height), (width // 2, 0, width, height)):
            colours = picture.convert("RGB").crop(half).getcolors(maxcolors=width * height)
            assert colours is not None and len(colours) > 50, "both halves are drawn"


def test_arrays(arrays: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> None:
    predicted, probability = arrays
    assert predicted.dtype == np.int64 and predicted.shape == (1000,)
    assert probability.dtype == np.float32 and probability.shape == (1000, 5)
    assert np.array_equal(probability.argmax(axis=1), predicted)
    assert np.allclose(probability.sum(axis=1), 1, atol=1e-5)


def test_json(again: dict[str, Any], story: tuple[Path, str]) -> None:
    folder, said = story
    assert again.keys() == {
        "ashore", "accuracy", "macro_f1", "confusion_matrix", "loss", "epochs", "seed", "files",
        "conversions", "device", "device_name", "note", "seconds",
    }  # fmt: skip
    assert 0.7 < again["accuracy"] < 0.98 and 0.7 < again["macro_f1"] < 0.98
    matrix = np.array(again["confusion_matrix"])
    assert matrix.shape == (5, 5) and matrix.sum() == 1000
    assert matrix.trace() / 1000 == pytest.approx(again["accuracy"])
    assert len(again["loss"]) == 2 and again["loss"][1] < again["loss"][0]
    assert (again["epochs"], again["seed"]) == (2, 7) and again["seconds"] > 0
    assert again["device"] == ("cuda:0" if torch.cuda.is_available() else "cpu")
    assert set(again["files"]) == {"picture", "predictions", "probabilities"}
    assert {Path(path) for path in again["files"].values()} == {folder / name for name in FILES}
    assert [(c["name"], c["call"]) for c in again["conversions"]] == CONVERSIONS
    for conversion in again["conversions"]:
        assert conversion["right"] and conversion["did"] and conversion["why"]
        assert conversion["bytes"] > 0 and conversion["copied_bytes"] >= 0
    assert f"{again['accuracy']:.3f}" in said, "the same seed gives the same result"


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens on the CPU")
def test_host_tensors_are_shared(again: dict[str, Any]) -> None:
    did = {c["name"]: (c["did"], c["copied_bytes"]) for c in again["conversions"]}
    assert did["a device tensor"] == ("share", 0)
    assert did["one with gradient"] == ("detach + share", 0)
    assert did["NumPy to the device"] == ("share", 0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the CPU gives the same numbers each time")
def test_same_seed_same_arrays(
    again: dict[str, Any], arrays: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
) -> None:
    predicted, probability = arrays
    assert np.array_equal(np.load(again["files"]["predictions"]), predicted)
    assert np.array_equal(np.load(again["files"]["probabilities"]), probability)


BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
from ashore.__main__ import main
sys.exit(main(["demo", *{args!r}]))
"""


@pytest.mark.parametrize("args", [[], ["--json"]])
@pytest.mark.parametrize(
    ("modules", "titles"),
    [
        (["torch"], "PyTorch"),
        (["sklearn"], "scikit-learn"),
        (["matplotlib"], "matplotlib"),
        (["torch", "matplotlib"], "PyTorch and matplotlib"),
        (["torch", "sklearn", "matplotlib"], "PyTorch, scikit-learn and matplotlib"),
    ],
)
def test_missing_extra(tmp_path: Path, modules: list[str], titles: str, args: list[str]) -> None:
    done = python("-c", BLOCKED.format(modules=modules, args=args), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"ashore: the demo needs {titles}: pip install 'ashore[torch,eval]'\n"
    assert not list(tmp_path.iterdir()), "no folder is made for nothing"


def test_broken_extra(tmp_path: Path) -> None:
    (tmp_path / "sklearn.py").write_text("raise ImportError('libgomp.so.1:\\ncannot open')")
    done = demo(cwd=tmp_path)
    assert done.returncode == 2 and is_one_line(done.stderr)
    assert "cannot load scikit-learn: libgomp.so.1: cannot open" in done.stderr


@pytest.mark.parametrize(
    "out", ["taken", "taken/below", "taken/\x1b[31m", "/proc/nowhere", "x" * 300, "y/" * 3000]
)
def test_folder_that_cannot_be(tmp_path: Path, out: str) -> None:
    (tmp_path / "taken").write_text("mine")
    done = demo("--out", out, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert is_one_line(done.stderr) and "--out" in done.stderr
    assert done.stderr[:-1].isprintable()
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = demo("--out", str(tmp_path), cwd=tmp_path)
    tmp_path.chmod(0o700)
    assert done.returncode == 2 and "Permission denied" in done.stderr


def test_file_that_cannot_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "probabilities.npy").mkdir()
    done = demo("--out", str(tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert is_one_line(done.stderr) and "probabilities.npy: Is a directory" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["probabilities.npy"]


def test_interrupt_leaves_old_files_whole(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_text("old")
    process = subprocess.Popen(
        [sys.executable, "-m", "ashore", "demo", "--out", str(tmp_path), "--epochs", "10000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "epoch" in line:
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (130, "ashore: interrupted\n")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        FILES, "old"
    )


@pytest.fixture
def torch_as_before() -> Iterator[None]:
    """Give PyTorch its number of threads and its random state back."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng():
        yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("torch_as_before")
def test_wrong_values_fail_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def six(*args: Any) -> list[conversions.Conversion]:
        return [replace(c, right=c.call != "to_torch") for c in honest(*args)]

    honest = conversions.six
    monkeypatch.setattr(conversions, "six", six)
    with pytest.raises(JobFailed, match=r"wrong values: NumPy to the device$"):
        job.run(tmp_path, epochs=1, seed=0, quiet=True)


@pytest.mark.usefixtures("torch_as_before")
@pytest.mark.parametrize(
    ("loss", "said"), [(1.0, "the model learned nothing"), (math.nan, "training diverged")]
)
def test_bad_training_fails_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: float, said: str
) -> None:
    class Useless(torch.nn.CrossEntropyLoss):
        def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            return (logits * 0).sum() + loss

    monkeypatch.setattr(torch.nn, "CrossEntropyLoss", Useless)
    with pytest.raises(JobFailed, match=said):
        job.run(tmp_path, epochs=1, seed=0, quiet=True)


# ashore.evaluation

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
