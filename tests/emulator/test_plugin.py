"""`pytest --emulate-gpu` as far as it goes without a GPU: options, refusals, markers, no cost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fake_torch import write_torch

TESTS = """\
import pytest
def test_plain(): pass
@pytest.mark.emulated_gpu
def test_one(): pass
@pytest.mark.emulated_gpu(devices=3)
def test_three(): pass
@pytest.mark.requires_gpus(99)
def test_many(): pass
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("PYTHONPATH", "ASHORE_EMULATE", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASHORE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    return tmp_path


def run_pytest(*words: str, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **env},
    )
    return done.returncode, done.stdout, done.stderr


def with_old_torch(folder: Path) -> dict[str, str]:
    root = write_torch(folder / "site" / "torch", "1.0")
    (root / "__init__.py").write_text("class cuda:\n    is_available = staticmethod(bool)\n")
    return {"PYTHONPATH": str(folder / "site")}


def test_tests_that_need_gpus_are_skipped_aloud(folder: Path) -> None:
    code, out, _ = run_pytest("--strict-markers", **with_old_torch(folder))
    assert code == 0 and "1 passed, 3 skipped" in out
    for needed, kind in ((1, "emulated GPU(s)"), (3, "emulated GPU(s)"), (99, "GPU(s)")):
        reason = f"needs {needed} {kind}, there are 0: pytest --emulate-gpu={needed}"
        assert f"ashore: 1 test(s) skipped, each {reason}\n" in out


def test_a_skip_is_told_of_the_test_s_own_line(folder: Path) -> None:
    _, out, _ = run_pytest("-rs", **with_old_torch(folder))
    assert re.findall(r"^SKIPPED \[1\] (\S+): needs", out, re.MULTILINE) == [
        "test_it.py:3",
        "test_it.py:5",
        "test_it.py:7",
    ]


def test_skips_of_others_come_first(folder: Path) -> None:
    (folder / "test_it.py").write_text(
        "import pytest\n@pytest.mark.skip(reason='theirs')\n@pytest.mark.requires_gpus(9)\n"
        "def test_x(): pass\n"
    )
    _, out, _ = run_pytest("-rs", **with_old_torch(folder))
    assert "1 skipped" in out and "theirs" in out


@pytest.mark.parametrize(
    ("mark", "part"),
    [
        ("emulated_gpu(0)", "0 is no number of GPUs; write @pytest.mark.emulated_gpu(devices=N)"),
        (
            "requires_gpus('two')",
            "'two' is no number of GPUs; write @pytest.mark.requires_gpus(number",
        ),
        (
            "requires_gpus(True)",
            "True is no number of GPUs; write @pytest.mark.requires_gpus(number",
        ),
        ("emulated_gpu(gpus=2)", "write @pytest.mark.emulated_gpu(devices=N)"),
        ("requires_gpus(1, 2)", "write @pytest.mark.requires_gpus(number=N)"),
    ],
)
def test_wrong_markers(folder: Path, mark: str, part: str) -> None:
    (folder / "test_it.py").write_text(f"import pytest\n@pytest.mark.{mark}\ndef test_x(): pass\n")
    code, out, _ = run_pytest()
    assert code == 1 and "1 error" in out
    told = [line for line in out.splitlines() if part in line and not line.startswith("ERROR")]
    assert len(told) == 1 and told[0].startswith("test_it.py::test_x: "), out
    assert "pytest_plugin" not in out, "no source of ours"


def test_nothing_is_paid_unless_asked_for(folder: Path) -> None:
    (folder / "test_it.py").write_text(
        "import os, sys\n"
        "def test_x():\n"
        "    heavy = {'numpy', 'torch', 'click', 'ml_dtypes'}\n"
        "    heavy |= {'ashore._core', 'ashore.emulate._build', 'ashore.emulate._loader'}\n"
        "    assert not heavy & set(sys.modules)\n"
        "    assert 'ASHORE_EMULATE' not in os.environ\n"
    )
    code, out, _ = run_pytest("-p", "no:hypothesispytest")
    assert code == 0 and "emulated" not in out, out


@pytest.mark.parametrize(
    ("words", "ini", "part"),
    [
        (["--emulate-gpu=99"], "", "emulate-gpu=99: '99' is no number of devices from 1 to 16"),
        (["--emulate-gpu=two"], "", "emulate-gpu=two: 'two' is no number of devices from 1 to"),
        (["--emulate-gpu="], "", "--emulate-gpu=: '' is no number of devices from 1 to 16"),
        (["--emulate-gpu", "--emulate-memory=lots"], "", "--emulate-memory=lots: 'lots' is no"),
        ([], "emulate_gpu = many", "emulate_gpu = many: 'many' is no number of devices"),
        ([], "emulate_gpu = 1\nemulate_memory = 3", "emulate_memory = 3: '3' is no memory of a"),
        ([], "emulate_gpu = 1\nemulate_memory = 3", "emulate_memory = 3: '3' is no memory of a"),
        ([], "emulate_gpu = 1\nemulate_memory = 0", "emulate_memory = 0: '0' is no memory of a"),
        (["--emulate-gpu"], "", "was not tried with torch 1.0: install torch"),
        (["--emulate-gpu", "test_it.py"], "", "was not tried with torch 1.0: install torch"),
        (["-p", "torch", "--emulate-gpu=2"], "", "torch is imported already, by a plugin"),
    ],
)
def test_refusals_are_usage_errors(folder: Path, words: list[str], ini: str, part: str) -> None:
    with (folder / "pytest.ini").open("a") as file:
        file.write(ini)
    code, out, err = run_pytest(*words, **with_old_torch(folder))
    assert code == pytest.ExitCode.USAGE_ERROR and "passed" not in out
    assert part in err and "Traceback" not in err and "usage: " not in err
    assert err.count("\n") <= 2, "one line, and an empty one of pytest's"


def test_zero_turns_the_configuration_off(folder: Path) -> None:
    with (folder / "pytest.ini").open("a") as file:
        file.write("emulate_gpu = 2\n")
    code, out, _ = run_pytest("--emulate-gpu=0", **with_old_torch(folder))
    assert code == 0 and "1 passed" in out


def test_help_shows_the_options_once() -> None:
    _, out, _ = run_pytest("--help")
    assert out.count("--emulate-gpu ") == 1 and "--emulate-gpu=3" not in out
    assert "--emulate-memory=SIZE" in out and "emulate_strict_sync" in out
    _, out, _ = run_pytest("--markers")
    assert "@pytest.mark.emulated_gpu(devices=1): needs" in out
