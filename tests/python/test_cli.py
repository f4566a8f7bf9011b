"""The command line as a user meets it: real processes, their output and their exit codes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import ashore
import pytest
from ashore.cli.commands import COMMANDS
from ashore.cli.text import escape

# As users have it: what a failed write leaves in the buffer fails once more when the process ends.
BUFFERED = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
HEAVY = ("numpy", "torch", "ml_dtypes", "rich", "sklearn", "matplotlib")


def python(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **env},
    )


def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "ashore", *args, **env)


def is_one_line(text: str) -> bool:
    return text.startswith("ashore: ") and text.count("\n") == 1 and text.endswith("\n")


def test_help_shows_the_commands_and_how_to_go_on() -> None:
    done = run("--help")
    assert done.returncode == 0 and done.stderr == ""
    for name, row in COMMANDS.items():
        assert f"  {name}" in done.stdout and row.help in done.stdout
    for part in ("Examples:", "_ASHORE_COMPLETE=bash_source", "Exit codes:", "NO_COLOR"):
        assert part in done.stdout
    assert "\x1b" not in done.stdout
    assert run("-h").stdout == done.stdout


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["demo", "--help"], ["demo", "--no"]])
def test_light_commands_import_nothing_heavy(args: list[str]) -> None:
    done = python(
        "-c",
        "import sys\n"
        "from ashore.__main__ import main\n"
        f"main({args!r})\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)",
    )
    assert done.stderr.endswith("[]\n"), done.stderr


def test_group_help_imports_no_command() -> None:
    done = python(
        "-c",
        "import sys\n"
        "from ashore.__main__ import main\n"
        "main(['--help'])\n"
        "print([m for m in sys.modules if m.startswith('ashore.demo')], file=sys.stderr)",
    )
    assert done.stderr == "[]\n"


def test_commands_are_where_the_table_says() -> None:
    from ashore.cli.app import app

    with app.make_context("ashore", ["demo"]) as context:
        for name, row in COMMANDS.items():
            command = app.get_command(context, name)
            assert command is not None and command.name == name
            assert command.help and command.epilog and "Examples:" in command.epilog
            assert command.get_short_help_str(limit=200) == row.help
            assert len(row.help) <= 60, "a line of --help"


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"ashore {ashore.__version__}\n"


@pytest.mark.parametrize(
    ("answer", "shown"),
    [("return '9.8.7'", "9.8.7"), ("raise metadata.PackageNotFoundError(name)", "unknown")],
)
def test_version_without_the_native_core(answer: str, shown: str) -> None:
    done = python(
        "-c",
        "import sys\n"
        "from importlib import metadata\n"
        "sys.modules['ashore._core'] = None\n"
        "def version(name):\n"
        f"    {answer}\n"
        "metadata.version = version\n"
        "from ashore.__main__ import main\n"
        "sys.exit(main(['--version']))",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"ashore {shown}\n", "")


def test_console_script_is_main() -> None:
    try:
        scripts = metadata.distribution("ashore").entry_points.select(group="console_scripts")
    except metadata.PackageNotFoundError:
        pytest.skip("ashore is not installed here, only on the path")
    assert {(s.name, s.value) for s in scripts} == {("ashore", "ashore.__main__:main")}


def test_without_a_command_help_goes_to_stderr() -> None:
    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: ashore" in done.stderr and "demo" in done.stderr


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["swim"], "No such command 'swim' (see: ashore --help)"),
        (["--bogus"], "'--bogus'"),
        (["demo", "--bogus"], "'--bogus'"),
        (["demo", "extra"], "(extra) (see: ashore demo --help)"),
        (["demo", "--epochs", "0"], "'--epochs'"),
        (["demo", "--epochs", "many"], "'many'"),
        (["demo", "--seed", "-1"], "'--seed'"),
        (["demo", "--out"], "'--out'"),
        (["sw\x1b[31mim\n"], r"\x1b[31mim\n"),
        (["demo", "\x07\u202e"], r"\x07\u202e"),
    ],
)
def test_wrong_usage_is_one_line(args: list[str], part: str) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert is_one_line(done.stderr) and part in done.stderr
    assert done.stderr[:-1].isprintable()


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        ("errors.JobFailed('it is\\nwrong')", 1, r"ashore: it is\nwrong"),
        ("errors.CannotRun('no such thing')", 2, "ashore: no such thing"),
        ("PermissionError(13, 'Permission denied', 'a\\x1bb')", 2, r"ashore: a\x1bb: Permission"),
        ("OSError(28, 'No space left on device')", 2, "ashore: No space left on device\n"),
        ("MemoryError()", 2, "ashore: out of memory\n"),
        ("KeyboardInterrupt()", 130, "ashore: interrupted\n"),
        ("BrokenPipeError(32, 'Broken pipe')", 1, ""),
    ],
)
def test_errors_become_exit_codes(tmp_path: Path, raised: str, code: int, said: str) -> None:
    (tmp_path / "badcommand.py").write_text(
        "import click\n"
        "from ashore.cli import errors\n"
        "@click.command()\n"
        "def bad():\n"
        f"    raise {raised}\n"
    )
    done = python(
        "-c",
        "import sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from ashore.__main__ import main\n"
        "from ashore.cli.commands import COMMANDS, Row\n"
        "COMMANDS['bad'] = Row('badcommand', 'bad', 'Fail.')\n"
        "sys.exit(main(['bad']))",
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(said)
    assert is_one_line(done.stderr) if said else done.stderr == ""


def test_missing_dependency_is_one_line() -> None:
    done = python(
        "-c",
        "import sys\n"
        "sys.modules['click'] = None\n"
        "from ashore.__main__ import main\n"
        "sys.exit(main(['--help']))",
    )
    assert done.returncode == 2 and is_one_line(done.stderr) and "click" in done.stderr


def test_output_that_cannot_be_written() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ashore", "--help"],
            stdout=full,
            env=BUFFERED,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    assert done.returncode == 2 and is_one_line(done.stderr)
    assert "No space left on device" in done.stderr


def test_reader_that_went_away() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "ashore", "--help"],
        stdout=write,
        env=BUFFERED,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(shell: str) -> None:
    script = run(_ASHORE_COMPLETE=f"{shell}_source")
    assert script.returncode == 0 and f"_ASHORE_COMPLETE={shell}_complete" in script.stdout
    words = {
        "bash": {"COMP_WORDS": "ashore de", "COMP_CWORD": "1"},
        "zsh": {"COMP_WORDS": "ashore de", "COMP_CWORD": "1"},
        "fish": {"COMP_WORDS": "ashore de", "COMP_CWORD": "de"},
    }
    done = run(_ASHORE_COMPLETE=f"{shell}_complete", **words[shell])
    assert done.returncode == 0 and "demo" in done.stdout


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb", "NO_COLOR": ""}, False),
    ],
)
def test_colours_on_a_terminal(env: dict[str, str], coloured: bool) -> None:
    code = "from ashore.cli.text import paint; print(ascii(paint('x', 'bold')))"
    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-c", code], stdout=theirs, env={**os.environ, **env}, timeout=120
    )
    os.close(theirs)
    shown = os.read(ours, 1000).decode().strip()
    os.close(ours)
    assert shown == (r"'\x1b[1mx\x1b[0m'" if coloured else "'x'")
    assert python("-c", code, **env).stdout == "'x'\n", "a pipe never gets colours"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain Grüße 船", "plain Grüße 船"),
        ("a\x1b[31mb\x00\r\n", r"a\x1b[31mb\x00\r\n"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        ("\u202egnp.exe\u2028", r"\u202egnp.exe\u2028"),
        ("bad \udcff name", r"bad \udcff name"),
        ("\U000e0001", r"\U000e0001"),
    ],
)
def test_escape(text: str, shown: str) -> None:
    assert escape(text) == shown
