"""The click command behind `ashore fix --run`; `fix` hands over to it."""

from __future__ import annotations

import os
from typing import Any

import click

from ashore.cli.emulate_options import machine_options, options_of
from ashore.cli.errors import CannotRun


class FixRunCommand(click.Command):
    """Take our options before the program's name; all words behind it are the program's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Hand click our options, and the program behind a `--`, untouched."""
        takes_value = {
            name
            for param in self.params
            if isinstance(param, click.Option) and not param.is_flag
            for name in param.opts
        }
        ours: list[str] = []
        rest = [word for place, word in enumerate(args) if place != args.index("--run")]
        while (
            rest and rest[0].startswith("-") and rest[0][:2] not in ("-m", "-c") and rest[0] != "-"
        ):
            word = rest.pop(0)
            if word == "--":
                break
            ours.append(word)
            if word in takes_value and rest:
                ours.append(rest.pop(0))
        if rest and rest[0][:2] == "-m" and len(rest[0]) > 2:
            rest[:1] = ["-m", rest[0][2:]]
        return super().parse_args(ctx, [*ours, "--", *rest])


@click.command(
    cls=FixRunCommand,
    options_metavar="--run [OPTIONS]",
    epilog="""\b
Examples:
  ashore fix --run train.py --epochs 1       the words after the script are its own
  ashore fix --run --diff -m package.train   only show
  ashore fix --run --copy train.py           run in a copy of the folder

\b
The program is run several times, with all that it does to files and the network.
Exit codes: 0 repaired or nothing to repair, 1 something is left, 2 could not run.""",
)
@machine_options
@click.option("--real", is_flag=True, help="Emulate nothing: run on the machine's own GPU.")
@click.option("--diff", is_flag=True, help="Show what would change and write nothing.")
@click.option("--no-verify", is_flag=True, help="Do not run the program again after the edits.")
@click.option("--copy", is_flag=True, help="Run in a copy of the folder; only edits come back.")
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="End each run after so long, and repair what was found until then.",
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT [ARGS]...")
@click.pass_context
def fix_run(
    ctx: click.Context,
    /,
    program: tuple[str, ...],
    real: bool,
    diff: bool,
    no_verify: bool,
    copy: bool,
    max_seconds: float | None,
    **machine: Any,
) -> int:
    """Repair a program by running it.

    Each place where a tensor and NumPy meet wrongly is recorded while the program runs under the
    emulated GPU; then the text is edited and the program run again, to see that it does the same.
    SCRIPT is a file or `-m MODULE`.
    """
    from ashore.fix.dynamic.launch import Program
    from ashore.fix.dynamic.session import Session, program_words

    if not program:
        raise click.UsageError("name a script or -m MODULE", ctx)
    why = program_words(program, os.getcwd())
    if why:
        raise CannotRun(why)
    if not real:
        _need_emulator()
    what = Program(program, os.getcwd(), None if real else options_of(**machine), max_seconds)
    if not copy:
        return _tell(Session(what, write=not diff, verify=not no_verify, say=_say).go(), diff)
    from ashore.fix.dynamic.copying import brought_back, copied
    from ashore.fix.edits import Refused

    with copied(what) as (there, root, folder):
        result = Session(there, write=True, verify=not no_verify, say=_say).go()
        try:
            return _tell(brought_back(result, root, folder, write=not diff), diff)
        except Refused as error:
            raise CannotRun(str(error)) from error


def _need_emulator() -> None:
    """Compile the emulated GPU before the clock of a program runs."""
    from ashore.emulate._build import CannotEmulate, ensure_built
    from ashore.emulate._torch_info import find_torch

    try:
        ensure_built(find_torch())
    except CannotEmulate as error:
        raise CannotRun(str(error)) from error


def _say(text: str) -> None:
    from ashore.cli.text import escape

    click.echo(f"ashore: {escape(text)}", err=True)


def _tell(result: Any, diff: bool) -> int:
    from ashore.cli.text import escape
    from ashore.fix.output.as_text import render
    from ashore.fix.output.diff import unified
    from ashore.fix.output.outcome import Outcome
    from ashore.fix.write import Fixed

    for path, (before, after) in result.changed.items():
        click.echo(unified(Fixed(os.path.relpath(path), before, after, 0, ())), nl=False)
    if result.left:
        click.echo(render(Outcome(result.left, (), 0, 0, os.getcwd())))
    if result.trouble:
        click.echo(f"ashore: {escape(result.trouble)}", err=True)
    files = len(result.changed)
    places = f"{_number(result.repaired, 'place')} in {_number(files, 'file')}"
    if result.restored:
        click.echo("the edits above were taken back", err=True)
        return 1
    if files:
        click.echo(f"{places} {'would be repaired' if diff else 'repaired'}", err=diff)
    elif not result.left and not result.trouble:
        click.echo("nothing to repair", err=diff)
    return 1 if result.left or result.trouble or (diff and files) else 0


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
