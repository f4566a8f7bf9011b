"""`ashore run PROGRAM` is `python PROGRAM`: the same output, errors, exit codes and signals, as
long as torch is not imported."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

SHOW = """\
import os, sys
print(__name__, globals().get("__file__"), sys.argv, sys.path[0], os.getcwd(), sys.warnoptions)
print(sys.orig_argv[1:], sys.flags, [p for p in sys.path if "sitecustomize" in p])
"""


def outcome(
    *command: str | Path, stdin: str | None = None, **options: object
) -> tuple[object, ...]:
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        **({"stdin": subprocess.DEVNULL} if stdin is None else {}),
        **options,
    )
    return done.returncode, done.stdout, done.stderr


def same(*program: str | Path, **options: object) -> tuple[object, ...]:
    """Return what a program does, after seeing that it does the same under `ashore run`."""
    wanted = outcome(*program, **options)
    assert outcome("-m", "ashore", "run", *program, **options) == wanted
    return wanted


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("ASHORE_EMULATE", "PYTHONWARNINGS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "show.py").write_text(SHOW)
    (tmp_path / "sub" / "__main__.py").write_text(SHOW)
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__main__.py").write_text(SHOW)
    (tmp_path / "pack" / "part.py").write_text(SHOW)
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as app:
        app.writestr("__main__.py", SHOW)
    return tmp_path


@pytest.mark.parametrize(
    "program",
    [
        ["sub/show.py"],
        ["sub/show.py", "--devices", "2", "-m", "x", "--", "-h", "--help", ""],
        ["./sub/show.py", "--report"],
        ["sub"],
        ["app.zip", "a"],
        ["-m", "pack", "--real"],
        ["-mpack.part", "-x"],
        ["-m", "pack.part", "-m", "y"],
        ["-c", SHOW, "-c", "z"],
        [f"-c{SHOW}", "z"],
        ["-W", "error", "-Wignore::DeprecationWarning", "sub/show.py"],
        ["-X", "dev", "-bb", "-O", "-u", "-m", "pack"],
        ["-P", "-B", "sub/show.py"],
        ["no-such-file.py"],
        ["-m", "no_such_module"],
        ["-m", "pack.no_such_part"],
    ],
    ids=" ".join,
)
def test_the_program_is_found_and_sees_itself_the_same(program: list[str]) -> None:
    _, out, err = same(*program)
    assert out or err


def test_standard_input_is_the_program_or_its_own() -> None:
    assert "['-', 'a', '-m']" in str(same("-", "a", "-m", stdin=SHOW)[1])
    assert same("-c", "print(input(), input())", stdin="one\ntwo\n")[1] == "one two\n"
    assert same("-i", "-c", "x = 7", stdin="print(x)\n")[1] == "7\n"


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("sys.exit()", 0),
        ("sys.exit(3)", 3),
        ("sys.exit(-1)", 255),
        ("sys.exit(None)", 0),
        ("sys.exit('why')", 1),
        ("sys.exit([1, 2])", 1),
        ("raise SystemExit(5)", 5),
        ("exit(2)", 2),
        ("os._exit(9)", 9),
        ("def f():\n    1 / 0\ndef g():\n    f()\ng()", 1),
        ("raise ExceptionGroup('many', [ValueError('x')])", 1),
        ("x = (", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("signal.raise_signal(signal.SIGINT)", -signal.SIGINT),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.abort()", -signal.SIGABRT),
        ("import threading; threading.Thread(target=lambda: 1 / 0, name='t').start()", 0),
        ("import atexit; atexit.register(print, 'bye'); 1 / 0", 1),
        ("import warnings; warnings.warn('look')", 0),
    ],
)
def test_endings(folder: Path, ending: str, code: int) -> None:
    (folder / "end.py").write_text(
        f"import os, signal, sys\nprint('begun', flush=True)\n{ending}\n"
    )
    got, _, err = same("end.py")
    assert got == code
    assert "ashore" not in str(err), "no frames of ours"


def ended(number: signal.Signals, *command: str) -> tuple[int, str]:
    """Return the exit status and the errors of a program that is sent a signal once it is ready."""
    process = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.05)  # into the loop
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


WAIT = """\
import time
print("ready", flush=True)
for _ in range(600):
    time.sleep(0.1)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_from_outside(folder: Path, number: signal.Signals) -> None:
    (folder / "wait.py").write_text(WAIT)
    assert ended(number, "-m", "ashore", "run", "wait.py") == ended(number, "wait.py")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("report", ["--report", "--report=report.json"])
def test_signals_with_a_report(folder: Path, report: str, number: signal.Signals) -> None:
    """Python forgets that it is to die of an interrupt when code is evaluated after it."""
    (folder / "wait.py").write_text(WAIT)
    code, err = ended(number, "-m", "ashore", "run", report, "wait.py")
    wanted, traceback = ended(number, "wait.py")
    assert code == wanted == -number
    is_told = number == signal.SIGINT
    shown = "ashore: the emulated GPU\ntorch was not imported\n"
    assert err == traceback + (shown if is_told and report == "--report" else "")
    assert (folder / "report.json").exists() == (is_told and report != "--report")


def test_it_stays_one_process_on_the_terminal(folder: Path) -> None:
    (folder / "tty.py").write_text(
        "import os, sys\nprint(sys.stdin.isatty(), sys.stdout.isatty(), os.getpid())\n"
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ashore", "run", "tty.py"], stdin=theirs, stdout=theirs
    )
    assert process.wait(timeout=60) == 0
    assert os.read(ours, 1000).decode().strip() == f"True True {process.pid}"
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ([], "name a script, -m MODULE, -c CODE, or - for standard input"),
        (["--devices", "0", "x.py"], "'--devices'"),
        (["--devices", "17", "x.py"], "'--devices'"),
        (["--memory", "lots", "x.py"], "'lots' is no size; write 512MiB, 8GiB"),
        (["--memory", "1", "x.py"], "from 1MiB to 1TiB"),
        (["--name", "a;b", "x.py"], "'a;b' is no name of a device"),
        (["--bogus", "x.py"], "'--bogus'"),
        (["-Z", "x.py"], "'-Z'"),
        (["-I", "x.py"], "-I shuts out the emulated GPU"),
        (["-sE", "x.py"], "-E shuts out the emulated GPU"),
        (["--real", "--report", "x.py"], "--report"),
        (["--memory"], "'--memory'"),
        (["--no-late-copies", "--strict-sync", "x.py"], "--strict-sync is about late copies"),
    ],
)
def test_wrong_usage_is_one_line(words: list[str], part: str) -> None:
    code, out, err = outcome("-m", "ashore", "run", *words)
    assert (code, out) == (2, "")
    assert part in str(err) and str(err).endswith("(see: ashore run --help)\n")
    assert str(err).count("\n") == 1


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("/no/such/folder/report.json", "No such file or directory"),
        ("sub", "Is a directory"),
        ("app.zip/report.json", "Not a directory"),
        ("/dev/full", "not a regular file"),
    ],
)
def test_a_report_that_cannot_be_written_is_told_at_the_start(file: str, reason: str) -> None:
    code, out, err = outcome("-m", "ashore", "run", f"--report={file}", "-c", "print('on')")
    path = os.path.abspath(file)
    assert (code, out) == (2, "")
    assert err == f"ashore: the report cannot be written to {path}: {reason}\n"


def test_a_report_that_cannot_be_written_any_more(folder: Path) -> None:
    program = "import os; os.rename('there', 'gone')"
    (folder / "there").mkdir()
    got = outcome("-m", "ashore", "run", "--report=there/report.json", "-c", program)
    path = folder / "there" / "report.json"
    told = f"ashore: the report cannot be written to {path}: No such file or directory\n"
    assert got == (0, "", told)
    assert not list((folder / "gone").iterdir())


def test_an_old_report_stays_until_there_is_a_new_one(folder: Path) -> None:
    (folder / "report.json").write_text("old")
    program = "print(open('report.json').read(), len(__import__('os').listdir('.')))"
    _, out, _ = outcome("-m", "ashore", "run", "--report=report.json", "-c", program)
    assert out == f"old {len(list(folder.iterdir()))}\n"
    assert '"waits": []' in (folder / "report.json").read_text()


@pytest.mark.parametrize(
    "words", ["", "run", "emulate", "emulate build", "emulate env"], ids=lambda words: words or "-"
)
def test_no_help_is_cut(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = outcome("-m", "ashore", *words.split(), "--help")
    assert (code, err) == (0, "")
    cut = [line for line in str(out).splitlines() if line.endswith(("...", "…"))]
    assert [line for line in cut if not line.startswith("Usage: ")] == []
    assert [line for line in str(out).splitlines() if len(line) > 80] == []


ENVIRONMENT = "import os; print(os.environ.get('ASHORE_EMULATE'), os.environ.get('PYTHONPATH'))"


def test_options_reach_the_program() -> None:
    words = "--devices=2 --memory 1.5GiB --no-late-copies --name".split()
    _, out, _ = outcome("-m", "ashore", "run", *words, "A 100", "-c", ENVIRONMENT)
    assert str(out).startswith(
        "devices=2;memory=1610612736;late_copies=0;strict_sync=0;name=A 100 "
    )


def test_real_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    nested = ["-m", "ashore", "run", "-m", "ashore", "run", "--real", "-c", ENVIRONMENT]
    assert outcome(*nested) == (0, "None None\n", "")
    monkeypatch.setenv("PYTHONPATH", "/one:/two")
    assert outcome(*nested) == (0, "None /one:/two\n", "")


def test_once_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/one")
    nested = ["-m", "ashore", "run", "-m", "ashore", "run", "--devices", "3", "-c", ENVIRONMENT]
    _, out, _ = outcome(*nested)
    assert str(out).count("sitecustomize") == 1 and str(out).endswith("sitecustomize:/one\n")
    assert "devices=3" in str(out)
