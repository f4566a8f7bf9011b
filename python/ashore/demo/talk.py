"""What the demo says while it works: plain lines, and a progress bar where there is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ashore.cli.text import is_live, paint

_MOST_LINES = 12


class Progress:
    """Be told of each batch and epoch; this one says nothing."""

    def batch(self) -> None:
        """Note that one batch is done."""

    def epoch(self, number: int, loss: float) -> None:
        """Note that an epoch is done."""


class _Lines(Progress):
    def __init__(self, epochs: int) -> None:
        self._epochs = epochs
        self._every = -(-epochs // _MOST_LINES)
        self._start = time.perf_counter()

    def epoch(self, number: int, loss: float) -> None:
        if number % self._every == 0 or number in (1, self._epochs):
            seconds = time.perf_counter() - self._start
            click.echo(
                f"  epoch {number:{len(str(self._epochs))}}/{self._epochs}"
                f"   loss {loss:.3f}   {seconds:.1f} s"
            )


class Talk:
    """Print for people, or keep quiet for programs."""

    def __init__(self, quiet: bool) -> None:
        """Say nothing on standard output if quiet."""
        self._quiet = quiet

    def say(self, line: str = "") -> None:
        """Print a line; text from outside must come in escaped."""
        if not self._quiet:
            click.echo(line)
            if sys.stdout is not None:
                sys.stdout.flush()

    def title(self, text: str) -> None:
        """Print a heading."""
        self.say()
        self.say(paint(text, "bold"))

    @contextmanager
    def training(self, epochs: int, batches: int) -> Iterator[Progress]:
        """Show how far a training of so many epochs of so many batches is."""
        stream = sys.stderr if self._quiet else sys.stdout
        if is_live(stream):
            with _bar(stream, epochs, batches) as bar:
                yield bar
        else:
            yield Progress() if self._quiet else _Lines(epochs)


@contextmanager
def _bar(stream: object, epochs: int, batches: int) -> Iterator[Progress]:
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("  {task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
    )
    console = Console(file=stream, highlight=False, emoji=False)  # type: ignore[arg-type]
    with progress.Progress(*columns, console=console) as live:
        task = live.add_task(f"0/{epochs} epochs   loss -----", total=epochs * batches)

        class Bar(Progress):
            def batch(self) -> None:
                live.advance(task)

            def epoch(self, number: int, loss: float) -> None:
                live.update(task, description=f"{number}/{epochs} epochs   loss {loss:.3f}")

        yield Bar()
