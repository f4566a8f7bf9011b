"""The click command `ashore doctor`: say whether a GPU can be used here and, if not, why."""

from __future__ import annotations

import os

import click

from ashore.cli.text import paint


@click.command(
    epilog="""\b
Examples:
  ashore doctor
  ashore doctor --json | jq -r '.causes[0].next'
  ashore doctor --deep               let PyTorch, JAX and CuPy try it

\b
Exit codes: 0 a GPU can be used, 1 none can."""
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
@click.option("--deep", is_flag=True, help="Also import each framework and use the GPU; seconds.")
@click.option(
    "--root",
    default="/",
    envvar="ASHORE_DOCTOR_ROOT",
    hidden=True,
    help="The folder that stands for /; for tests.",
)
@click.option("--seconds", default=10.0, hidden=True, help="What the driver has to answer in.")
def doctor(as_json: bool, deep: bool, root: str, seconds: float) -> int:
    """Say whether a GPU can be used here and, if not, why: the likeliest cause first.

    Reads files and asks the driver's library in a process of its own; imports no framework.
    """
    from ashore.doctor.causes import causes as causes_of
    from ashore.doctor.facts import gather
    from ashore.doctor.machine import Machine
    from ashore.doctor.report import as_data, as_text

    machine = Machine(root, os.environ)
    facts = gather(machine, seconds)
    causes = causes_of(facts)
    said: dict[str, str] = {}
    if deep:
        from ashore.doctor.deep import failures, try_frameworks
        from ashore.emulate._children import without_emulation

        said = try_frameworks(facts.builds, without_emulation(os.environ))
        causes += failures(said) if not causes else []
    if as_json:
        import json

        click.echo(json.dumps(as_data(facts, causes, said), indent=2))
    else:
        click.echo(as_text(facts, causes, said, paint))
    return 1 if causes else 0
