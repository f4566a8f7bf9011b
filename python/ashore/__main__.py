"""Run the command line: `ashore` and `python -m ashore` both call `main`."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 ok, 1 findings or a failed job, 2 could not run.

    Every foreseeable error becomes one line on standard error.
    """
    try:
        code = _run(argv)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _silence_stdout()
        return 1
    except OSError as error:
        _silence_stdout()
        return _fail(_describe(error), 2)
    except MemoryError:
        return _fail("out of memory", 2)


def _run(argv: Sequence[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # a path that the terminal cannot spell must not end the run
            reconfigure(errors="backslashreplace")
    # The collector finds nothing in freshly imported modules but costs a fifth of `ashore --help`.
    collecting = gc.isenabled()
    gc.disable()
    try:
        import click

        from ashore.cli.app import app
        from ashore.cli.errors import CannotRun, Interrupted, JobFailed
    except ImportError as error:
        return _fail(f"the installation is incomplete: {error}", 2)
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
    try:
        outcome = app.main(
            args=None if argv is None else list(argv), prog_name="ashore", standalone_mode=False
        )
        return outcome if isinstance(outcome, int) else 0
    except JobFailed as error:
        return _fail(str(error), 1)
    except CannotRun as error:
        return _fail(str(error), 2)
    except (Interrupted, click.Abort):
        return _fail("interrupted", INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else "ashore"
        return _fail(f"{error.format_message().rstrip('.')} (see: {where} --help)", 2)
    except click.ClickException as error:
        return _fail(error.format_message(), 2)


def _fail(message: str, code: int) -> int:
    from ashore.cli.text import escape

    if sys.stderr is not None:
        with suppress(OSError):  # nobody is left to be told
            print(f"ashore: {escape(message)}", file=sys.stderr, flush=True)
    return code


def _describe(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return reason if error.filename is None else f"{error.filename}: {reason}"


def _silence_stdout() -> None:
    """Give what is still buffered a place to go, so that the interpreter's last flush is quiet."""
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


if __name__ == "__main__":
    sys.exit(main())
