"""The pytest plugin: `pytest --emulate-gpu` runs the tests on emulated GPUs, two markers say what a
test needs. Loaded by every pytest where ashore is installed, so it imports nothing until asked."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from ashore.emulate._options import MOST_DEVICES, Options, device_count, size_bytes

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from ashore.fix.dynamic.recorded_tests import RecordedTests

_RECORDED: pytest.StashKey[RecordedTests] = pytest.StashKey()
_OPTIONS = pytest.StashKey[Options]()
_OFF = {"": False, "0": False, "false": False, "no": False, "off": False}


class _Count(argparse.Action):
    """Store the text behind `=`, 1 without one.

    An option with nargs="?" would eat the path in `pytest --emulate-gpu tests`.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        _, equals, number = (option_string or "").partition("=")
        setattr(namespace, self.dest, number if equals else "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and their counterparts in the configuration file."""
    group = parser.getgroup("ashore", "emulated GPU")
    group.addoption(
        "--emulate-gpu",
        dest="emulate_gpu",
        action=_Count,
        nargs=0,
        default=None,
        help="Run on an emulated GPU; --emulate-gpu=N on N of them, --emulate-gpu=0 on none.",
    )
    group.addoption(
        *(f"--emulate-gpu={number}" for number in range(MOST_DEVICES + 1)),
        *_mistaken(),
        dest="emulate_gpu",
        action=_Count,
        nargs=0,
        default=None,
        help=argparse.SUPPRESS,
    )
    group.addoption(
        "--emulate-memory",
        metavar="SIZE",
        default=None,
        help="Memory of each emulated GPU, such as 512MiB; 8GiB by default.",
    )
    group.addoption(
        "--record-fixes",
        action="store_true",
        help="Record where tensors and NumPy meet wrongly, go on, and show the repairs at the end.",
    )
    parser.addini("emulate_gpu", "Number of emulated GPUs to run on.", default="0")
    parser.addini("emulate_memory", "Memory of each emulated GPU.", default="8GiB")
    parser.addini("emulate_late_copies", "Let non_blocking copies arrive late.", default="true")
    parser.addini("emulate_strict_sync", "Make reading a copy too early an error.", default="false")


def _mistaken() -> list[str]:
    """Return what was written for a number but is none, for argparse's own refusal says nothing."""
    words = [*sys.argv[1:], *os.environ.get("PYTEST_ADDOPTS", "").split()]
    known = {str(number) for number in range(MOST_DEVICES + 1)}
    found = {word.partition("=") for word in words if word.startswith("--emulate-gpu=")}
    return ["".join(parts) for parts in sorted(found) if parts[2] not in known]


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start the emulated GPU before any conftest can import torch."""
    try:
        options = _wanted(early_config)
    except ValueError as error:
        raise pytest.UsageError(f"emulated GPU: {error}") from error
    if early_config.known_args_namespace.record_fixes and "ASHORE_RECORD" not in os.environ:
        from ashore.fix.dynamic.recorded_tests import RecordedTests

        early_config.stash[_RECORDED] = RecordedTests(early_config.rootpath)
    late = "torch" in sys.modules and not _is_emulated()
    if late and os.environ.get("ASHORE_EMULATE", "0") not in ("", "0"):
        raise pytest.UsageError(
            "torch was imported past the emulated GPU; load it in a plugin, not by -p torch"
        )
    if options is None:
        return
    if late:
        raise pytest.UsageError(
            "emulated GPU: torch is imported already, by a plugin or an option -p; start with: "
            "ashore run -m pytest"
        )
    from ashore.emulate import _children

    os.environ.update(_children.with_emulation(os.environ, options))
    if "torch" not in sys.modules:  # else the environment has done it, as in a worker of xdist
        _children.remove_hook()
        try:
            _children.start(options)
        except _children.REASONS as error:
            raise pytest.UsageError(f"emulated GPU: {' '.join(str(error).split())}") from error
    early_config.stash[_OPTIONS] = options


def _wanted(config: pytest.Config) -> Options | None:
    """Return what the command line and the configuration file ask for, None for no GPU."""
    given = config.known_args_namespace
    devices = _read(config, _zero_or_more, given.emulate_gpu, "emulate_gpu")
    if devices == 0:
        return None
    return Options(
        devices=devices,
        memory_bytes=_read(config, size_bytes, given.emulate_memory, "emulate_memory"),
        late_copies=_switch(config, "emulate_late_copies"),
        strict_sync=_switch(config, "emulate_strict_sync"),
    )


def _zero_or_more(text: str) -> int:
    return 0 if text == "0" else device_count(text)


def _read(config: pytest.Config, read: Callable[[str], int], given: str | None, name: str) -> int:
    """Read the option, else the line of the configuration file."""
    text, written = given, f"--{name.replace('_', '-')}={given}"
    if text is None:
        text = str(config.getini(name)).strip() or "0"
        written = f"{name} = {text}"
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f"{written}: {error}") from None


def _switch(config: pytest.Config, name: str) -> bool:
    return _OFF.get(str(config.getini(name)).strip().lower(), True)


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the markers."""
    config.addinivalue_line(
        "markers", "emulated_gpu(devices=1): needs so many emulated GPUs, else it is skipped"
    )
    config.addinivalue_line(
        "markers", "requires_gpus(number=1): needs so many GPUs, real or emulated, else skipped"
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say on what the tests run."""
    options = config.stash.get(_OPTIONS, None)
    if options is None:
        return None
    memory = options.memory_bytes / (1 << 20)
    return f"ashore: {options.devices} emulated GPU(s), {memory:,.0f} MiB each"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs more GPUs than there are."""
    for name, key in (("emulated_gpu", "devices"), ("requires_gpus", "number")):
        for marker in item.iter_markers(name):
            needed = _argument(item, marker, key)
            there = _device_count() if name == "requires_gpus" or _is_emulated() else 0
            if there < needed:
                kind = "emulated GPU(s)" if name == "emulated_gpu" else "GPU(s)"
                reason = f"needs {needed} {kind}, there are {there}: pytest --emulate-gpu={needed}"
                # For pytest's own hook, which runs next and tells the test's line, not this one.
                item.add_marker(pytest.mark.skip(reason=reason))


def _argument(item: pytest.Item, marker: pytest.Mark, key: str) -> int:
    values = [*marker.args, *marker.kwargs.values()]
    advice = f"write @pytest.mark.{marker.name}({key}=N)"
    if len(values) > 1 or set(marker.kwargs) - {key}:
        pytest.fail(f"{item.nodeid}: {advice}", pytrace=False)
    needed = values[0] if values else 1
    if not isinstance(needed, int) or isinstance(needed, bool) or needed < 1:
        pytest.fail(f"{item.nodeid}: {needed!r} is no number of GPUs; {advice}", pytrace=False)
    return needed


def _device_count() -> int:
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def _is_emulated() -> bool:
    from ashore.emulate import is_running

    return is_running()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Show the repairs; say aloud how many tests were left out for want of a GPU."""
    recorded = terminalreporter.config.stash.get(_RECORDED, None)
    if recorded is not None:
        terminalreporter.section("ashore: repairs")
        for line in recorded.lines():
            terminalreporter.write_line(line)
    reasons: dict[str, int] = {}
    for report in terminalreporter.stats.get("skipped", []):
        longrepr = report.longrepr
        text = longrepr[2] if isinstance(longrepr, tuple) else ""
        if ": pytest --emulate-gpu=" in text:
            reason = text.removeprefix("Skipped: ")
            reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"ashore: {count} test(s) skipped, each {reason}", yellow=True)
