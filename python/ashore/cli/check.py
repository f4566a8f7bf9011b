"""The click commands `ashore check`, `ashore fix` and `ashore rule`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from ashore.cli.errors import CannotRun
from ashore.cli.text import escape, is_live

F = TypeVar("F", bound=Callable[..., Any])

_FORMATS = ("text", "json", "sarif", "github", "gitlab")


def _what_to_tell(command: F) -> F:
    """Give a command the paths and the options that choose among reports."""
    options = [
        click.argument("paths", nargs=-1, type=click.Path(exists=True), metavar="PATH..."),
        click.option(
            "--level",
            type=click.Choice(["sure", "likely", "maybe"]),
            help="Tell what is at least so sure.  [default: likely, or that of pyproject.toml]",
        ),
        click.option("--select", multiple=True, metavar="RULES", help="Only these: TN101,TN2."),
        click.option("--ignore", multiple=True, metavar="RULES", help="All but these."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command(
    epilog="""\b
Examples:
  ashore check train.py
  ashore check --level sure .        for CI: only what is sure
  ashore check --format github src

\b
Exit codes: 0 nothing to tell, 1 reports, 2 a file could not be checked."""
)
@_what_to_tell
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default="text", show_default=True, help="How."
)
@click.option("--statistics", is_flag=True, help="Count the reports by rule instead.")
@click.option("--no-cache", is_flag=True, help="Check every file anew.")
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Processes.  [default: all cores]"
)
def check(
    paths: tuple[str, ...],
    level: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    form: str,
    statistics: bool,
    no_cache: bool,
    jobs: int | None,
) -> int:
    """Report where tensors and NumPy meet wrongly, without running anything.

    PATH is a Python file, a notebook, or a folder of them. Settings come from [tool.ashore] in
    pyproject.toml.
    """
    from ashore.fix.cache import open_cache
    from ashore.fix.check import Fault, check_paths, processes, told, without_collector
    from ashore.fix.output import renderer
    from ashore.fix.output.outcome import Outcome
    from ashore.fix.output.outcome import statistics as count

    settings = _settings(paths, level, select, ignore)
    without_collector()
    cache = None if no_cache else open_cache(settings.root)
    results, faults, files, lines = [], [], 0, 0
    with _quiet(), _Progress() as progress:
        for result in check_paths(paths, settings, cache, jobs or processes(), progress):
            files += 1
            if isinstance(result, Fault):
                faults.append(result)
                continue
            lines += result.lines
            if result.fault:
                faults.append(Fault(result.path, result.fault))
            if result.reports:
                results.append(result)
    if cache is not None:
        cache.write()
    outcome = Outcome(tuple(told(results, settings)), tuple(faults), files, lines, settings.root)
    text = count(outcome) if statistics else renderer(form)(outcome)
    if text:
        click.echo(text)
    _tell_faults(faults)
    return 1 if outcome.reports else 2 if faults else 0


class FixCommand(click.Command):
    """Hand over to the command that runs the program where `--run` says so."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Make the context of the one command or the other."""
        if "--run" not in args:
            return super().make_context(info_name, args, parent, **extra)
        from ashore.cli.fix_run import fix_run

        return fix_run.make_context(info_name, args, parent, **extra)


@click.command(
    cls=FixCommand,
    epilog="""\b
Examples:
  ashore fix --diff train.py         only show what would change
  ashore fix src
  ashore fix --run train.py          find the places by running; see ashore fix --run --help

\b
Exit codes: 0 nothing is left to tell, 1 reports are left (with --diff: or something would
change), 2 a file could not be read.""",
)
@_what_to_tell
@click.option("--diff", is_flag=True, help="Show what would change and write nothing.")
@click.option("--unsafe", is_flag=True, help="Repair also what changes the program's results.")
@click.option("--run", is_flag=True, help="Find the places by running SCRIPT [ARGS].")
def fix(
    paths: tuple[str, ...],
    level: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    diff: bool,
    unsafe: bool,
    run: bool,
) -> int:
    """Repair where tensors and NumPy meet wrongly, in place.

    Only the expressions themselves are edited; a file is written whole or not at all. What cannot
    be repaired without knowing more is reported.
    """
    from ashore.fix.check import Fault, without_collector
    from ashore.fix.output.as_text import render
    from ashore.fix.output.diff import unified
    from ashore.fix.output.outcome import Outcome
    from ashore.fix.report import Report
    from ashore.fix.write import fix_paths

    settings = _settings(paths, level, select, ignore)
    without_collector()
    left: list[Report] = []
    faults: list[Fault] = []
    changed = repaired = 0
    with _quiet():
        for result in fix_paths(paths, settings, unsafe=unsafe, write=not diff):
            if isinstance(result, Fault):
                faults.append(result)
                continue
            left += result.left
            if result.before != result.after:
                changed += 1
                repaired += result.repaired
                if diff:
                    click.echo(unified(result), nl=False)
    outcome = Outcome(tuple(left), (), 0, 0, settings.root)
    if not diff and left:
        click.echo(render(outcome))
    if changed:
        did = "would be repaired" if diff else "repaired"
        click.echo(f"{_number(repaired, 'place')} in {_number(changed, 'file')} {did}", err=diff)
    elif not left and not faults:
        click.echo("nothing to repair", err=diff)
    _tell_faults(faults)
    return 1 if left or (diff and changed) else 2 if faults else 0


@click.command(
    epilog="""\b
Examples:
  ashore rule TN101
  ashore rule                        the list"""
)
@click.argument("rule_id", required=False, metavar="[ID]")
def rule(rule_id: str | None) -> None:
    """Explain a rule, with a wrong and a right example."""
    from ashore.fix.pages import ids, page, title_of

    if rule_id is None:
        for known in ids():
            click.echo(f"{known}  {title_of(known)}")
        return
    try:
        click.echo(page(rule_id.upper()), nl=False)
    except KeyError:
        raise click.UsageError(f"there is no rule {rule_id!r}; `ashore rule` lists them") from None


def _settings(
    paths: tuple[str, ...], level: str | None, select: tuple[str, ...], ignore: tuple[str, ...]
) -> Any:
    from ashore.fix.config import BadConfig, find_settings

    if not paths:
        raise click.UsageError("name files or folders; `.` is all below here")
    try:
        return find_settings(paths[0]).with_options(level, select, ignore)
    except BadConfig as error:
        raise CannotRun(str(error)) from error


def _tell_faults(faults: list[Any]) -> None:
    for fault in faults:
        click.echo(f"ashore: {escape(fault.path)}: {escape(fault.reason)}", err=True)


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the warnings of Python's parser about other people's code to ourselves."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class _Progress:
    """Count files on a terminal once that takes longer than a second."""

    def __enter__(self) -> _Progress:
        from time import monotonic

        self._clock = monotonic
        self._next = monotonic() + 1
        self._shown = False
        self._live = is_live(sys.stderr)
        return self

    def __call__(self, done: int, total: int) -> None:
        if self._live and self._clock() > self._next:
            self._next = self._clock() + 0.1
            self._shown = True
            print(f"\r{done} of {total} files", end="", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
