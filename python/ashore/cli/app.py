"""The click group behind `ashore`; called by `ashore.__main__`."""

from __future__ import annotations

from importlib import import_module

import click

from ashore.cli.commands import COMMANDS
from ashore.cli.errors import Interrupted
from ashore.cli.text import help_width


class LazyGroup(click.Group):
    """List commands from the table and import one only when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name."""
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        command: click.Command = getattr(import_module(row.module), row.attribute)
        command.short_help = row.help
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that the arguments name."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:  # click itself would print an empty line first
            raise Interrupted from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.help) for name, row in COMMANDS.items()])


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"ashore {_version()}")
        ctx.exit()


def _version() -> str:
    import ashore

    try:
        return str(ashore.__version__)
    except (ImportError, AttributeError):  # the native core is not there; the metadata may be
        from importlib import metadata

        try:
            return metadata.version("ashore")
        except metadata.PackageNotFoundError:
            return "unknown"


@click.group(
    cls=LazyGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "terminal_width": help_width(),
    },
    epilog="""\b
Examples:
  ashore demo                        the main job, start to end
  ashore demo --out results --json   the same for a program to read

\b
Shell completion, in the start-up file of your shell:
  bash   eval "$(_ASHORE_COMPLETE=bash_source ashore)"
  zsh    eval "$(_ASHORE_COMPLETE=zsh_source ashore)"
  fish   _ASHORE_COMPLETE=fish_source ashore | source

\b
Exit codes: 0 ok, 1 findings or a failed job, 2 could not run.
NO_COLOR turns colours off.""",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def app() -> None:
    """Bring tensors ashore: from any device to NumPy and back."""
