"""`ashore.plan`: what `to_numpy` would do, as a table for people and as fields for programs."""

from __future__ import annotations

from typing import Any, NamedTuple

from ashore import _core

# From so many bytes on the table says which kernels do the work.
_LARGE = 1 << 20


class Entry(NamedTuple):
    """What happens to one array of the argument."""

    path: str
    """Where in the argument it is, such as `['batch'][0]`; empty for the argument itself."""
    action: str
    """`share`, `copy`, `new` (of plain numbers) or `framework` (the owning framework's copy from
    its device)."""
    steps: tuple[str, ...]
    """What else happens on the way: `detach`, `resolve`, `cast`, `swap bytes`, `reorder`."""
    shape: tuple[int, ...]
    from_dtype: str
    dtype: str
    """The dtype of the result."""
    bytes: int
    """Bytes of the result."""
    copied_bytes: int
    """Bytes written on the way; 0 for a share."""
    read_only: bool
    """Whether the result will be read-only."""
    kernels: str
    """How a copy is carried out: the layout kernel, what is done with the elements, the level of
    vector instructions, the threads, such as `transpose cast, avx512, 2 threads`. Empty where
    nothing is copied on the host."""
    why: str


class Plan:
    """What `to_numpy` would do with an argument. Made by `plan`; moves nothing."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries

    @property
    def bytes(self) -> int:
        """Bytes of all results."""
        return sum(entry.bytes for entry in self.entries)

    @property
    def copied_bytes(self) -> int:
        """Bytes that would be written."""
        return sum(entry.copied_bytes for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __str__(self) -> str:
        rows = [("array", "shape", "dtype", "action", "size", "why")]
        rows += [_row(entry) for entry in self.entries]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        widths[-1] = 0  # nothing stands behind the last column
        lines = ["  ".join(map(str.ljust, row, widths)) for row in rows]
        count = len(self.entries)
        arrays = "array" if count == 1 else "arrays"
        total = f"{count} {arrays}, {_size(self.bytes)}, {_size(self.copied_bytes)} to copy"
        return "\n".join([*lines, total])

    def __repr__(self) -> str:
        return f"<ashore.Plan of {len(self.entries)} arrays, {self.copied_bytes} bytes to copy>"


def plan(x: Any, *, copy: bool | None = None, dtype: Any = None, order: str = "K") -> Plan:
    """Return what `to_numpy(x, ...)` would do: for each array whether it is shared or copied, how
    many bytes, and why.

    Raises what `to_numpy` would raise for an argument that cannot be converted.
    """
    return Plan([Entry(*row) for row in _core.plan_entries(x, copy=copy, dtype=dtype, order=order)])


def _row(entry: Entry) -> tuple[str, str, str, str, str, str]:
    path = _printable(entry.path) or "x"
    dtype = (
        entry.dtype if entry.dtype == entry.from_dtype else f"{entry.from_dtype} -> {entry.dtype}"
    )
    action = " + ".join([*entry.steps, entry.action])
    why = entry.why + (
        "; the result is read-only" if entry.read_only and "read-only" not in entry.why else ""
    )
    if entry.kernels and entry.copied_bytes >= _LARGE:
        why += f"; by {entry.kernels}"
    return path, str(entry.shape), dtype, action, _size(entry.bytes), why


def _printable(text: str) -> str:
    """Escape control characters of a key that came from outside."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{int(size)} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError
