"""The click command `ashore explain`: read a traceback and say what is wrong, and what to write."""

from __future__ import annotations

import os
import sys

import click

from ashore.cli.errors import CannotRun
from ashore.cli.text import paint

_MOST_BYTES = 64 << 20


@click.command(
    epilog="""\b
Examples:
  python train.py 2>&1 | ashore explain
  ashore explain error.log
  ashore explain --json < error.log
  ashore explain notebook.ipynb      the errors in its outputs

\b
Exit codes: 0 explained, 1 no known error in the text, 2 it could not be read."""
)
@click.argument("file", required=False, metavar="[FILE]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def explain(file: str | None, as_json: bool) -> int:
    """Explain the error in a traceback: where, which expression, why, and what to write instead.

    Reads FILE or standard input: text of Python, IPython, pytest or a log with other lines
    around it. Nothing is run. Lines of source that the text lacks are read from files below the
    working folder.
    """
    from ashore.explain.describe import as_data, as_text
    from ashore.explain.explanation import explain as explained

    text = _text_of(file)
    found = explained(text, os.getcwd())
    if as_json:
        import json

        click.echo(json.dumps({"explanations": [as_data(one) for one in found]}, indent=2))
    elif found:
        click.echo("\n\n".join(as_text(one, paint) for one in found))
    else:
        click.echo("No error that ashore knows is in this text.")
    return 0 if found else 1


def _text_of(file: str | None) -> str:
    try:
        if file is None or file == "-":
            if sys.stdin is None:
                raise CannotRun("there is no standard input; name a file")
            if sys.stdin.isatty():
                click.echo("Paste the traceback, then press Ctrl-D:", err=True)
            data = sys.stdin.buffer.read(_MOST_BYTES)
        else:
            with open(file, "rb") as opened:
                data = opened.read(_MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CannotRun(f"{file or 'standard input'}: {reason}") from error
    text = data.decode("utf-8-sig" if data[:3] == b"\xef\xbb\xbf" else _encoding(data), "replace")
    return _outputs(text) if text.lstrip()[:1] == "{" and '"nbformat"' in text else text


def _encoding(data: bytes) -> str:
    return "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"


def _outputs(text: str) -> str:
    """Return the tracebacks in the outputs of a notebook."""
    import json

    try:
        cells = json.loads(text)["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        return "\n\n".join("\n".join(output.get("traceback", ())) for output in outputs)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return text
