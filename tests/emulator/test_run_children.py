"""How processes below `ashore run` get the hook: children of all kinds, a sitecustomize that was
there before, and what happens when torch cannot be emulated."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ashore.emulate._children import HOOK_FOLDER
from fake_torch import is_alive, wait_for_number, write_slow_compiler, write_torch

HOOKED = "import sys; print(sum(hasattr(f, 'ashore_hook') for f in sys.meta_path))"


def run(*command: str | Path, python: str = sys.executable, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [python, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **env},
    )
    return done.returncode, done.stdout, done.stderr


def ashore_run(*words: str | Path, **env: str) -> tuple[int, str, str]:
    return run("-m", "ashore", "run", *words, **env)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASHORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


def test_the_hook_is_there_once_and_only_below_run() -> None:
    assert ashore_run("-c", HOOKED) == (0, "1\n", "")
    assert run("-c", HOOKED) == (0, "0\n", "")
    assert ashore_run("--real", "-c", HOOKED) == (0, "0\n", "")


@pytest.mark.parametrize(
    "start",
    [
        f"subprocess.run([sys.executable, '-c', {HOOKED!r}])",
        f"subprocess.run([sys.executable, '-s', '-c', {HOOKED!r}])",
        "subprocess.run('$P -c \"$CODE\"', shell=True, "
        f"env={{**os.environ, 'P': sys.executable, 'CODE': {HOOKED!r}}})",
        f"os.execv(sys.executable, [sys.executable, '-c', {HOOKED!r}])",
        f"multiprocessing.get_context('spawn').Pool(1).apply(exec, ({HOOKED!r},))",
        f"multiprocessing.get_context('forkserver').Pool(1).apply(exec, ({HOOKED!r},))",
        f"multiprocessing.get_context('fork').Pool(1).apply(exec, ({HOOKED!r},))",
        "concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context('spawn'))"
        f".submit(exec, {HOOKED!r}).result()",
    ],
)
def test_children_have_it(folder: Path, start: str) -> None:
    (folder / "parent.py").write_text(
        "import concurrent.futures, multiprocessing, os, subprocess, sys\n"
        f"if __name__ == '__main__':\n    {start}\n"
    )
    code, out, err = ashore_run("parent.py")
    assert (code, out) == (0, "1\n"), err


def test_a_child_can_be_kept_out(folder: Path) -> None:
    child = f"import subprocess, sys; subprocess.run([sys.executable, %r, '-c', {HOOKED!r}])"
    for option in ("-I", "-E", "-S"):
        assert ashore_run("-c", child % option)[1] == "0\n", "as docs/guide/emulate.md says"


def test_the_sitecustomize_of_others_still_runs(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("import builtins\nbuiltins.theirs = __name__\n")
    code = "import sitecustomize, sys; print(theirs, sitecustomize.__file__);" + HOOKED
    expected = f"sitecustomize {folder}/sitecustomize.py\n1\n"
    assert ashore_run("-c", code, PYTHONPATH=str(folder)) == (0, expected, "")


def test_an_error_in_it_is_told_as_python_tells_it(folder: Path) -> None:
    for text in ("import no_such_module", "1 / 0"):
        (folder / "sitecustomize.py").write_text(text + "\n")
        code, out, err = run("-c", HOOKED, PYTHONPATH=str(folder))
        assert (code, out) == (0, "0\n") and err.startswith("Error in sitecustomize")
        both = {"PYTHONPATH": f"{HOOK_FOLDER}:{folder}", "ASHORE_EMULATE": "1"}
        assert run("-c", HOOKED, **both) == (0, "1\n", err)


def test_the_user_s_own_module_of_that_name_is_not_shadowed(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("x = 1\n")
    code = "import sys; del sys.modules['sitecustomize']; import sitecustomize as s; print(s.x)"
    assert ashore_run("-c", code)[1] == "1\n"


def test_looking_for_torch_starts_nothing() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    code = (
        "import importlib.util as u, sys\n"
        "spec = u.find_spec('torch')\n"
        "print(spec.origin.endswith('__init__.py'), type(spec.loader).__name__)\n"
        "print(any(name.startswith('ashore') for name in sys.modules))\n"
    )
    assert ashore_run("-c", code) == (0, "True SourceFileLoader\nFalse\n", "")


def test_a_torch_that_is_not_installed_is_python_s_own_error(folder: Path) -> None:
    (folder / "x.py").write_text("import sys\nsys.path[1:] = []\nimport torch\n")
    assert ashore_run("x.py") == run("x.py")
    assert "No module named 'torch'" in run("x.py")[2]


@pytest.fixture
def old_torch(folder: Path) -> str:
    root = write_torch(folder / "site" / "torch", "1.0")
    (root / "__init__.py").write_text("print('imported')\n")
    return str(folder / "site")


@pytest.mark.parametrize(
    "program",
    [
        "import torch",
        "try:\n    import torch\nexcept Exception:\n    print('caught')",
        "import torch.nn",
        "__import__('importlib').import_module('torch')",
    ],
)
def test_a_torch_that_cannot_be_emulated_ends_the_program(program: str, old_torch: str) -> None:
    code, out, err = ashore_run("-c", f"print('on')\n{program}", PYTHONPATH=old_torch)
    assert (code, out) == (2, "on\n")
    assert err.startswith("ashore: the emulated GPU was not tried with torch 1.0: install torch")
    assert err.count("\n") == 1


def test_a_program_that_starts_it_sees_its_own_frames(folder: Path, old_torch: str) -> None:
    (folder / "own.py").write_text("import ashore.emulate\nashore.emulate.start()\n")
    code, out, err = run("own.py", PYTHONPATH=old_torch)
    frames = [line.split('"')[1] for line in err.splitlines() if line.startswith("  File")]
    assert (code, out) == (1, "")
    assert [Path(frame).name for frame in frames] == ["own.py", "__init__.py"], "and start itself"
    assert err.splitlines()[-1].startswith("ashore.emulate.CannotEmulate: the emulated GPU was")
    assert "During handling" not in err and "direct cause" not in err
    caught = (
        "import ashore.emulate as e, pickle\ntry:\n    e.start()\nexcept e.CannotEmulate as error:"
    )
    again = f"{caught}\n    print(type(pickle.loads(pickle.dumps(error))) is e.CannotEmulate)"
    assert run("-c", again, PYTHONPATH=old_torch) == (0, "True\n", "")


def test_nothing_is_said_as_long_as_torch_is_not_imported(old_torch: str) -> None:
    assert ashore_run("-c", "print('on')", PYTHONPATH=old_torch) == (0, "on\n", "")


def test_wrong_options_in_the_environment_end_it_too(old_torch: str) -> None:
    for text, part in {
        "devices=99": "'99' is no number of devices from 1 to 16",
        "sharks=1": "'sharks=1' is no option of the emulated GPU",
    }.items():
        code, _, err = run(
            "-c", "import torch", PYTHONPATH=f"{HOOK_FOLDER}:{old_torch}", ASHORE_EMULATE=text
        )
        assert code == 2 and part in err and err.count("\n") == 1
    for off in ("", "0"):
        assert run(
            "-c", "import torch", PYTHONPATH=f"{HOOK_FOLDER}:{old_torch}", ASHORE_EMULATE=off
        ) == (
            0,
            "imported\n",
            "",
        )


def test_a_python_without_ashore(folder: Path, old_torch: str) -> None:
    (folder / "bare").mkdir()
    (folder / "bare" / "sitecustomize.py").write_bytes(
        (Path(__file__).parents[2] / "python/ashore/emulate/sitecustomize/sitecustomize.py")
        .read_bytes()
    )  # fmt: skip
    path = f"{folder}/bare:{old_torch}"
    code, out, err = run("-c", "import sys; sys.path[:] = sys.path[:3]; sys.modules['ashore'] = "
                         "None; import torch", PYTHONPATH=path, ASHORE_EMULATE="1")  # fmt: skip
    assert (code, out) == (2, "")
    assert "has no ashore to emulate a GPU for its torch" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["run", "-c", "import torch"],
        ["run", "-m", "pytest"],
        ["run", "--report=report.json", "-c", "import torch"],
        ["run", "--real", "-m", "pytest", "--emulate-gpu"],
    ],
    ids=" ".join,
)
def test_an_interrupt_while_it_is_compiled_is_one_line(folder: Path, words: list[str]) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    compiler, child = write_slow_compiler(folder)
    (folder / "conftest.py").write_text("import torch\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "ashore", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "CXX": str(compiler)},
    )
    pid = wait_for_number(child, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    told = "ashore: interrupted while the emulated GPU was being compiled; nothing is left behind\n"
    lines = [line for line in err.splitlines(True) if "(once): " not in line]  # how far it was
    assert (process.returncode, out, "".join(lines)) == (-signal.SIGINT, "", told)
    assert not is_alive(pid)


def test_env_speaks_to_shells(folder: Path) -> None:
    _, text, _ = run("-m", "ashore", "emulate", "env", "--devices", "2", "--name", "it's $1")
    (folder / "child.py").write_text(HOOKED)
    child = f"{sys.executable} child.py; echo $ASHORE_EMULATE"
    done = subprocess.run(["sh", "-c", f"{text}\n{child}"], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "1",
        "devices=2;memory=8589934592;late_copies=1;strict_sync=0;name=it's $1",
    ], done.stderr
    _, github, _ = run("-m", "ashore", "emulate", "env", "--format", "github")
    assert [line.partition("=")[0] for line in github.splitlines()] == [
        "ASHORE_EMULATE",
        "PYTHONPATH",
    ]


def test_it_costs_next_to_nothing_without_torch() -> None:
    code = "import sys; print(sorted(m for m in sys.modules if 'ashore' in m or 'json' in m))"
    assert ashore_run("-c", code)[1] == "[]\n"
    times = []
    for _ in range(5):  # the first may have to compile it
        _, _, err = run(
            *("-X", "importtime", "-c", "pass"),
            PYTHONPATH=str(HOOK_FOLDER),
            ASHORE_EMULATE="1",
            PYTHONDONTWRITEBYTECODE="",
        )
        rows = [line.split("|") for line in err.splitlines()]
        times += [int(row[1]) for row in rows if row[-1].strip() == "sitecustomize"]
    assert min(times) < 2000, "microseconds"
