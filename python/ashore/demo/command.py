"""The click command `ashore demo`: read the options, call the job, print what it gave."""

from __future__ import annotations

import click


@click.command(
    epilog="""\b
Examples:
  ashore demo                        everything goes to ./ashore-demo
  ashore demo --out results --json   one JSON object on standard output
  ashore demo --epochs 3 --seed 7

\b
Needs PyTorch, scikit-learn and matplotlib:
  pip install 'ashore[torch,eval]'"""
)
@click.option(
    "--out",
    default="ashore-demo",
    show_default=True,
    metavar="DIR",
    help="Folder for the picture and the arrays; made if it is not there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else.")
@click.option(
    "--epochs",
    type=click.IntRange(1, 10_000),
    default=12,
    show_default=True,
    metavar="N",
    help="Passes over the training data.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=42,
    show_default=True,
    metavar="N",
    help="Start of all random numbers.",
)
def demo(out: str, as_json: bool, epochs: int, seed: int) -> None:
    """Train a small classifier on the GPU, evaluate it, and bring the results ashore.

    Prints a classification report, draws evaluation_results.png, saves predictions.npy and
    probabilities.npy, and shows the six everyday conversions. Without a GPU everything runs on
    an emulated one.
    """
    from pathlib import Path

    from ashore.demo.job import run

    result = run(Path(out), epochs=epochs, seed=seed, quiet=as_json)
    if as_json:
        import json

        click.echo(json.dumps(result, indent=2, allow_nan=False))
