"""The arguments of `ashore.emulate.start`, checked; called by nothing else."""

from __future__ import annotations

import operator

from ashore.emulate._options import Options, device_count, device_name, size_bytes

POISONS = ("bytes", "old")


def check_arguments(
    devices: object,
    memory: object,
    late_copies: object,
    strict_sync: object,
    name: object,
    poison: object,
) -> tuple[Options, str]:
    """Return the options and the poison, or raise ValueError or TypeError, one line."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name is text, not {type(name).__name__}")
    if poison not in POISONS:
        raise ValueError(f"poison is {' or '.join(map(repr, POISONS))}, not {poison!r}")
    chosen = Options(
        devices=_named("devices", device_count, str(_integer("devices", devices))),
        memory_bytes=_named("memory", size_bytes, _size_text(memory)),
        late_copies=_truth("late_copies", late_copies),
        strict_sync=_truth("strict_sync", strict_sync),
    )
    if name is not None:
        chosen = chosen._replace(name=device_name(name))
    if chosen.strict_sync and not chosen.late_copies:
        raise ValueError(
            "strict_sync needs late_copies: without them nothing is read too early; drop one"
        )
    return chosen, str(poison)


def _integer(argument: str, value: object) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{argument} is a number, not {value!r}")
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{argument} is a number, not {value!r}") from None


def _size_text(memory: object) -> str:
    return memory if isinstance(memory, str) else str(_integer("memory", memory))


def _truth(argument: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{argument} is True or False, not {value!r}")
    return value


def _named(argument: str, read: object, text: str) -> int:
    try:
        return read(text)  # type: ignore[operator, no-any-return]
    except ValueError as error:
        raise ValueError(f"{argument}: {error}") from None
