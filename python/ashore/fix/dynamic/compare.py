"""Compare what two runs of a program printed: numbers to a few digits, addresses not at all."""

from __future__ import annotations

import math
import re

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_TIME = re.compile(
    r"\b\d+(?:\.\d+)?\s?(?:[mun]?s|sec|secs|seconds|min|minutes)\b|\b\d+:\d\d(?::\d\d)?(?:\.\d+)?\b"
)
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_CLOSE = (
    2e-3  # relative: sums in another order, float32 against float64, in a few steps of training
)


def same(a: str, b: str) -> bool:
    """Tell whether two outputs say the same."""
    a, b = _plain(a), _plain(b)
    if a == b:
        return True
    if _shape(a) != _shape(b):
        return False
    numbers = zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=True)
    return all(_close(mine, other) for mine, other in numbers)


def alike(a: str, b: str) -> bool:
    """Tell whether two outputs say the same but for the numbers."""
    return _shape(a) == _shape(b)


def _shape(text: str) -> str:
    """Return a text with a mark for each number, and without the spaces that line numbers up."""
    return "".join(_NUMBER.sub("#", _plain(text)).split())


def begins_with(whole: str, part: str) -> bool:
    """Tell whether an output is the beginning of another, in whole lines."""
    lines = part.splitlines()
    return same("\n".join(whole.splitlines()[: len(lines)]), "\n".join(lines))


def _plain(text: str) -> str:
    return "\n".join(
        line.rstrip() for line in _TIME.sub("(time)", _ADDRESS.sub("0x", text)).strip().splitlines()
    )


def _close(a: str, b: str) -> bool:
    if a.lstrip("+-").isdecimal() and b.lstrip("+-").isdecimal():
        return int(a) == int(b)
    digits = max(_digits(a), _digits(b))
    x, y = float(a), float(b)
    return math.isclose(x, y, rel_tol=_CLOSE, abs_tol=2 * 10.0**-digits)


def _digits(number: str) -> int:
    """Return how many digits stand behind the point: the last one may differ."""
    if "e" in number.lower():
        return 12
    return len(number.partition(".")[2])


def first_difference(a: str, b: str) -> str:
    """Return the first line in which two outputs differ, for a message."""
    one, two = _plain(a).splitlines(), _plain(b).splitlines()
    for mine, other in zip(one, two, strict=False):
        if not same(mine, other):
            return f"{other!r} instead of {mine!r}"
    longer = one[len(two) :] or two[len(one) :]
    what = "is missing" if len(one) > len(two) else "is new"
    return f"{longer[0]!r} {what}" if longer else ""
