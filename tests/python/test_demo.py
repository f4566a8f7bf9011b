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

import torch
from ashore.cli.errors import JobFailed
from ashore.demo import conversions, job
from PIL import Image

FILES = {"evaluation_results.png", "predictions.npy", "probabilities.npy"}
OPTIONS = ("--epochs", "2", "--seed", "7")
CONVERSIONS = [
    ("a device tensor", "to_numpy"),
    ("one with grad", "to_numpy"),
    ("a model's output", "to_numpy"),
    ("under no_grad", "to_numpy"),
    ("several tensors", "tensors_to_numpy"),
    ("NumPy to device", "to_torch"),
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
        assert said.count("this GPU is emulated") == 1
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
    assert again["device"] == "cuda:0"
    assert ("emulated" in again["note"]) == (not torch.cuda.is_available())
    assert set(again["files"]) == {"picture", "predictions", "probabilities"}
    assert {Path(path) for path in again["files"].values()} == {folder / name for name in FILES}
    assert [(c["name"], c["call"]) for c in again["conversions"]] == CONVERSIONS
    for conversion in again["conversions"]:
        assert conversion["right"] and conversion["did"] and conversion["why"]
        assert conversion["bytes"] > 0 and conversion["copied_bytes"] >= 0
    assert f"{again['accuracy']:.3f}" in said, "the same seed gives the same result"


def test_device_tensors_are_copied(again: dict[str, Any]) -> None:
    did = {c["name"]: (c["did"], c["copied_bytes"]) for c in again["conversions"]}
    assert did["a device tensor"] == ("framework", 48)
    assert did["one with grad"] == ("detach + framework", 48)
    assert did["NumPy to device"] == ("copy", 96)


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens on the CPU")
def test_without_an_emulated_gpu_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASHORE_SIMULATOR_LIB", str(tmp_path / "missing.so"))
    done = demo(*OPTIONS, "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["device"] == "cpu" and "simulated driver is missing" in result["note"]
    did = {c["name"]: (c["did"], c["copied_bytes"]) for c in result["conversions"]}
    assert did["a device tensor"] == ("share", 0)
    assert did["one with grad"] == ("detach + share", 0)
    assert did["NumPy to device"] == ("share", 0)


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
        # A test run in the background ignores SIGINT, and its children would as well.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "epoch" in line:
                break
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
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
    with pytest.raises(JobFailed, match=r"wrong values: NumPy to device$"):
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
