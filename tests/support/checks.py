"""What every refusal must be (contract E1), and small comparisons that many tests need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def refuses(
    kind: type[BaseException] | tuple[type[BaseException], ...],
    call: Callable[[], Any],
    *words: str,
) -> str:
    """Assert that the call raises `kind` with one non-empty line that has all the words; return
    the line."""
    try:
        result = call()
    except kind as error:
        text = str(error)
        assert text.strip() and len(text.splitlines()) == 1, repr(text)
        missing = [word for word in words if word.lower() not in text.lower()]
        assert not missing, f"{text!r} has no {missing}"
        return text
    raise AssertionError(f"expected {kind}, got {type(result)}")


def is_plain_array(x: Any) -> bool:
    """Say whether an object is exactly an ndarray (contract N1)."""
    return type(x) is np.ndarray


def address(x: np.ndarray) -> int:
    return int(x.__array_interface__["data"][0])


def bits(x: np.ndarray) -> bytes:
    """Return the elements' bytes in row-major order; two arrays with the same bits are the same."""
    raw = np.array(x, order="C", copy=True).tobytes()
    if x.dtype.newbyteorder("=") not in (np.longdouble, np.clongdouble):
        return raw
    # Six of the sixteen bytes of a long double are padding with anything in them.
    parts = np.frombuffer(raw, np.uint8).reshape(-1, 16)
    return (parts[:, :10] if x.dtype.isnative else parts[:, :5:-1]).tobytes()


def assert_same(got: np.ndarray, want: np.ndarray) -> None:
    """Assert an exact ndarray of the wanted dtype, shape and bits."""
    assert is_plain_array(got), type(got)
    assert got.dtype == want.dtype, (got.dtype, want.dtype)
    assert got.shape == want.shape, (got.shape, want.shape)
    assert bits(got) == bits(want), (got, want)
