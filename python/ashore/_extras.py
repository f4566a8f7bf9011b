"""Tell in one line which optional packages are missing; used by whatever needs an extra."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple


class Extra(NamedTuple):
    """Name a package: how it is imported, what people call it, which extra of ashore brings it."""

    module: str
    title: str
    extra: str


TORCH = Extra("torch", "PyTorch", "torch")
SCIKIT_LEARN = Extra("sklearn", "scikit-learn", "eval")
MATPLOTLIB = Extra("matplotlib", "matplotlib", "eval")


class MissingExtra(ImportError):
    """Say which optional packages are missing and the command that installs them."""


def require(who: str, needed: Sequence[Extra], suggest: Sequence[str] = ()) -> None:
    """Raise MissingExtra, one line, unless every package of `needed` is installed.

    Nothing is imported: what loads slowly is not loaded in vain. `suggest` names the extras of the
    install command; by default those of the missing packages.
    """
    missing = [extra for extra in needed if not _is_installed(extra.module)]
    if missing:
        titles = " and ".join(
            [", ".join(m.title for m in missing[:-1]), missing[-1].title]
        ).removeprefix(" and ")
        extras = ",".join(suggest or dict.fromkeys(m.extra for m in missing))
        raise MissingExtra(f"{who} needs {titles}: pip install 'ashore[{extras}]'")


def load(who: str, needed: Sequence[Extra]) -> None:
    """Import the packages; one that is installed but broken is ImportError in one line."""
    for extra in needed:
        try:
            import_module(extra.module)
        except (
            ImportError,
            OSError,
            ValueError,
        ) as error:  # ValueError: a broken setting, MPLBACKEND
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ImportError(f"{who} cannot load {extra.title}: {reason}") from error


def _is_installed(module: str) -> bool:
    from importlib.util import find_spec  # here, for its import takes a millisecond

    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
