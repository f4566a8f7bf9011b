"""The click command `ashore run`: become the Python that runs the user's program."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import click

from ashore.cli.emulate_options import machine_options, options_of
from ashore.cli.errors import CannotRun

# Python's own options that may stand before the program: alone, and with a value.
_PYTHON_FLAGS = set("bBdiOPqRsuvx")
_PYTHON_VALUES = set("WX")
_NO_WAY_IN = set("EIS")  # with these, Python looks neither at the environment nor for the hook


class RunCommand(click.Command):
    """Split the words into our options, Python's, and the program with its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Hand click our options, and the rest behind a `--`, untouched."""
        takes_value = {
            name
            for param in self.params
            if isinstance(param, click.Option) and not param.is_flag
            for name in param.opts
        }
        ours: list[str] = []
        python: list[str] = []
        rest = list(args)
        while rest and not _starts_program(rest[0]):
            word = rest.pop(0)
            if word == "--":
                break
            if word == "--report":  # its value comes with = or not at all
                ours.append("--report=-")
            elif word.startswith("--") or word == "-h":
                ours.append(word)
                if word in takes_value and rest:
                    ours.append(rest.pop(0))
            else:
                python += _python_option(word, rest, ctx)
        ctx.meta["ashore.python"] = python
        return super().parse_args(ctx, [*ours, "--", *rest])


def _starts_program(word: str) -> bool:
    return word == "-" or not word.startswith("-") or word[:2] in ("-m", "-c")


def _python_option(word: str, rest: list[str], ctx: click.Context) -> list[str]:
    letters = word[1:]
    if letters[0] in _PYTHON_VALUES:
        if len(letters) == 1 and rest:
            return [word, rest.pop(0)]
        return [word]
    for letter in letters:
        if letter in _NO_WAY_IN:
            raise click.UsageError(f"-{letter} shuts out the emulated GPU", ctx)
        if letter not in _PYTHON_FLAGS:
            raise click.NoSuchOption(word, ctx=ctx)
    return [word]


@click.command(
    cls=RunCommand,
    options_metavar="[OPTIONS]",
    context_settings={"ignore_unknown_options": False},
    epilog="""\b
Examples:
  ashore run train.py --epochs 3        the words after the script are its own
  ashore run --devices 2 -m pytest tests
  ashore run --memory 512MiB --report train.py
  echo 'import torch; print(torch.ones(1).cuda())' | ashore run -

\b
Needs PyTorch, a C++ compiler and PyYAML:
  pip install 'ashore[torch,emulate]'
Programs that the script starts with Python get the GPU too. Options of Python
itself (-W error, -X dev, -u, -i) go before the script.""",
)
@machine_options
@click.option("--real", is_flag=True, help="Emulate nothing: run on the machine's own GPU.")
@click.option(
    "--report",
    metavar="[=FILE]",
    help="Print at exit what memory, copies and waits there were; to FILE as JSON.",
)
@click.option(
    "--explain/--no-explain",
    default=True,
    show_default=True,
    help="Explain an error that ashore knows below its traceback. ASHORE_EXPLAIN=0 ends it too.",
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT [ARGS]...")
@click.pass_context
def run(
    ctx: click.Context,
    /,
    program: tuple[str, ...],
    real: bool,
    report: str | None,
    explain: bool,
    **machine: Any,
) -> NoReturn:
    """Run a Python program with an emulated GPU.

    SCRIPT is a file, `-m MODULE`, `-c CODE`, or `-` for standard input, as with python.
    The program sees a CUDA device in an unmodified PyTorch: real values, real error messages,
    late copies, out of memory. Its exit code is the program's.
    """
    from ashore.emulate._children import EXPLAIN, with_emulation, without_emulation

    if not program:
        raise click.UsageError("name a script, -m MODULE, -c CODE, or - for standard input", ctx)
    if real:
        if report is not None:
            raise click.UsageError("--report counts on the emulated GPU, not with --real", ctx)
        environment = without_emulation(os.environ)
    else:
        if report is not None and report != "-":
            report = _writable(report)
        environment = with_emulation(os.environ, options_of(**machine), report)
        if not explain:
            environment[EXPLAIN] = "0"
        environment.setdefault(EXPLAIN, "1")
    if not sys.executable:
        raise CannotRun("this Python does not know its own executable")
    command = [sys.executable, *_our_flags(ctx), *ctx.meta["ashore.python"], *program]
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os.execve(sys.executable, command, environment)


def _writable(report: str) -> str:
    from ashore.emulate._report import refuse_unwritable

    path = os.path.abspath(report)
    try:
        refuse_unwritable(path)
    except OSError as error:
        reason = error.strerror or str(error)  # its file is one beside it
        raise CannotRun(f"the report cannot be written to {path}: {reason}") from error
    return path


def _our_flags(ctx: click.Context) -> list[str]:
    """Return the options of Python that ashore itself was started with, for the program."""
    words = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
    by_hand = "-m" in words  # else it is our script, whose first line may have some for itself
    flags: list[str] = []
    while words and not _starts_program(words[0]):
        word = words.pop(0)
        if not by_hand and word[1:2] not in _PYTHON_VALUES:
            word = "-" + "".join(letter for letter in word[1:] if letter not in "EIPs")
        if word != "-":
            flags += _python_option(word, words, ctx)
    return flags
