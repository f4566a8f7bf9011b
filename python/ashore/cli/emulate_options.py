"""The options that say how the emulated machine is made up; shared by `run` and `emulate env`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ashore.emulate import _options as spelling

F = TypeVar("F", bound=Callable[..., Any])


def _read_by(read: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str], Any]:
    """Return a callback that reads the value; ValueError becomes a usage error."""

    def callback(ctx: click.Context, param: click.Parameter, value: str) -> Any:
        try:
            return read(value)
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, param) from error

    return callback


_OPTIONS = [
    click.option(
        "--devices",
        type=click.IntRange(1, spelling.MOST_DEVICES),
        default=1,
        show_default=True,
        metavar="N",
        help="Number of GPUs.",
    ),
    click.option(
        "--memory",
        callback=_read_by(spelling.size_bytes),
        default="8GiB",
        show_default=True,
        metavar="SIZE",
        help="Memory of each GPU; a program that needs more gets torch.OutOfMemoryError.",
    ),
    click.option(
        "--late-copies/--no-late-copies",
        default=True,
        show_default=True,
        help="Let a non_blocking copy arrive at the wait for it; what is read before is poison.",
    ),
    click.option(
        "--strict-sync",
        is_flag=True,
        help="Make reading a copy too early an error.",
    ),
    click.option(
        "--name",
        callback=_read_by(spelling.device_name),
        default=spelling.Options().name,
        show_default=True,
        metavar="TEXT",
        help="What the GPUs are called.",
    ),
]


def machine_options(command: F) -> F:
    """Give a command the parameters devices, memory, late_copies, strict_sync and name."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def options_of(
    devices: int, memory: int, late_copies: bool, strict_sync: bool, name: str
) -> spelling.Options:
    """Return the options that the parameters say."""
    if strict_sync and not late_copies:
        raise click.UsageError("--strict-sync is about late copies: drop it or --no-late-copies")
    return spelling.Options(devices, memory, late_copies, strict_sync, name)
