"""The forms in which results are told: each module has `render(results, settings, …) -> str`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ashore.fix.output.outcome import Outcome

FORMATS = ("text", "json", "sarif", "github", "gitlab")


def renderer(name: str) -> Callable[[Outcome], str]:
    """Return the function that writes results in a form; only that form's module is imported."""
    render: Callable[[Outcome], str] = import_module(f"ashore.fix.output.as_{name}").render
    return render
