"""The click group `ashore emulate`: compile the emulated GPU ahead of time, and its environment."""

from __future__ import annotations

from typing import Any

import click

from ashore.cli.emulate_options import machine_options, options_of
from ashore.cli.errors import CannotRun


@click.group(
    epilog="""\b
Examples:
  ashore emulate build               compile it now, for images and CI caches
  eval "$(ashore emulate env)"       from here on, every Python has a GPU"""
)
def emulate() -> None:
    """Prepare the emulated GPU that `ashore run` uses.

    It is compiled once for each PyTorch and kept in $ASHORE_CACHE_DIR, by default in
    ~/.cache/ashore.
    """


@emulate.command(
    short_help="Compile the emulated GPU, unless it is there already.",
    epilog="""\b
Examples:
  ashore emulate build
  ashore emulate build --json | jq -r .folder""",
)
@click.option("--force", is_flag=True, help="Compile even if it is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else.")
def build(force: bool, as_json: bool) -> None:
    """Compile the emulated GPU for the installed PyTorch, unless it is there already.

    Needs a C++ compiler and PyYAML; a minute or two on two cores.
    """
    from ashore.cli.text import escape
    from ashore.emulate._build import CannotEmulate, ensure_built
    from ashore.emulate._torch_info import find_torch, read_torch

    try:
        torch = read_torch(find_torch())
        made = ensure_built(torch.root, force=force)
    except CannotEmulate as error:
        raise CannotRun(str(error)) from error
    if as_json:
        import json

        facts = {
            "folder": str(made.emulator.parent),
            "emulator": str(made.emulator),
            "surface": str(made.surface),
            "torch": torch.version,
            "compiled": made.compiled,
            "seconds": round(made.seconds, 3),
        }
        click.echo(json.dumps(facts, indent=2))
        return
    did = f"compiled in {made.seconds:.1f} s" if made.compiled else "is there already"
    where = escape(str(made.emulator.parent))
    click.echo(f"The emulated GPU for torch {escape(torch.version)} {did}: {where}")


@emulate.command(
    short_help="Print the environment that gives every Python a GPU.",
    epilog="""\b
Examples:
  eval "$(ashore emulate env)"
  eval "$(ashore emulate env --devices 2 --memory 1GiB)"; torchrun train.py
  ashore emulate env --format github >> "$GITHUB_ENV"
  unset ASHORE_EMULATE               ends it""",
)
@machine_options
@click.option(
    "--format",
    "spelling",
    type=click.Choice(["sh", "github"]),
    default="sh",
    show_default=True,
    help="Lines for a shell, or for a file of GitHub Actions.",
)
def env(spelling: str, **machine: Any) -> None:
    """Print the environment that gives every Python below it an emulated GPU.

    For tools that start Python themselves: torchrun, tox, notebooks, editors.
    """
    import os
    import shlex

    from ashore.emulate._children import EMULATE, with_emulation

    changed = with_emulation(os.environ, options_of(**machine))
    for name in (EMULATE, "PYTHONPATH"):
        if spelling == "github":
            click.echo(f"{name}={changed[name]}")
        else:
            click.echo(f"export {name}={shlex.quote(changed[name])}")
