"""The table of commands; `app` lists it for `--help` and imports a row's module on a call."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """Name where a command lives and what `ashore --help` says of it."""

    module: str
    attribute: str
    help: str


COMMANDS: dict[str, Row] = {
    "demo": Row("ashore.demo.command", "demo", "Train, evaluate and bring the results ashore."),
    "run": Row("ashore.cli.run", "run", "Run a Python program with an emulated GPU."),
    "check": Row("ashore.cli.check", "check", "Report where tensors and NumPy meet wrongly."),
    "fix": Row("ashore.cli.check", "fix", "Repair these places in the text."),
    "rule": Row("ashore.cli.check", "rule", "Explain a rule of check and fix."),
    "explain": Row("ashore.cli.explain", "explain", "Explain the error in a traceback."),
    "doctor": Row("ashore.cli.doctor", "doctor", "Say why there is, or is not, a usable GPU."),
    "emulate": Row("ashore.cli.emulate", "emulate", "Compile and set up the emulated GPU."),
}
