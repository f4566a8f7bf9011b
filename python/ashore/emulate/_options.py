"""How the emulated machine is made up, and its spelling in the environment; read by the command
line, the pytest plugin and every process that is to start with an emulated GPU."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

MOST_DEVICES = 16

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_LEAST_BYTES = 1 << 20
_MOST_BYTES = 1 << 40


class Options(NamedTuple):
    """The options of `ashore.emulate.start`."""

    devices: int = 1
    memory_bytes: int = 8 << 30
    late_copies: bool = True
    strict_sync: bool = False
    name: str = "Emulated GPU"

    def __str__(self) -> str:
        """Spell them as the emulator takes them: `devices=1;memory=8589934592;…`."""
        return (
            f"devices={self.devices};memory={self.memory_bytes};late_copies={self.late_copies:d};"
            f"strict_sync={self.strict_sync:d};name={self.name}"
        )

    def arguments(self) -> dict[str, Any]:
        """Return them as keyword arguments of `ashore.emulate.start`."""
        rest = self._asdict()
        return {"memory": rest.pop("memory_bytes"), **rest}


def read_options(text: str) -> Options:
    """Read what `str` of options gives; parts may be missing, and `1` stands for all defaults.

    Raises ValueError, one line.
    """
    options = Options()
    if text == "1":
        return options
    for part in filter(None, text.split(";")):
        key, _, value = part.partition("=")
        if key == "devices":
            options = options._replace(devices=device_count(value))
        elif key == "memory":
            options = options._replace(memory_bytes=size_bytes(value))
        elif key == "late_copies" and value in ("0", "1"):
            options = options._replace(late_copies=value == "1")
        elif key == "strict_sync" and value in ("0", "1"):
            options = options._replace(strict_sync=value == "1")
        elif key == "name":
            options = options._replace(name=device_name(value))
        else:
            raise ValueError(f"{part!r} is no option of the emulated GPU")
    return options


def device_count(text: str) -> int:
    """Read a number of devices."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_DEVICES:
        raise ValueError(f"{text!r} is no number of devices from 1 to {MOST_DEVICES}")
    return int(text)


def size_bytes(text: str) -> int:
    """Read a size: bytes, or a number with a unit such as `512MiB`, `8GiB`, `8G`, `80GB`.

    KB, MB, GB and TB are powers of 1000, all other units powers of 1024.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?", text.strip(), re.IGNORECASE)
    if not found:
        raise ValueError(f"{text!r} is no size; write 512MiB, 8GiB or a number of bytes")
    number, unit, rest = found[1], found[2].lower(), (found[3] or "").lower()
    if rest == "ib" and not unit:
        raise ValueError(f"{text!r} is no size; write 512MiB, 8GiB or a number of bytes")
    factor = 1000 ** " kmgt".index(unit) if unit and rest == "b" else _UNITS[unit]
    size = round(float(number) * factor) if "." in number else int(number) * factor
    if not _LEAST_BYTES <= size <= _MOST_BYTES:
        raise ValueError(f"{text!r} is no memory of a device: from 1MiB to 1TiB")
    return size


def device_name(text: str) -> str:
    """Check what the devices are to be called."""
    if not text or len(text.encode()) > 255 or ";" in text or not text.isprintable():
        raise ValueError(f"{text!r} is no name of a device: printable, no semicolon, 255 bytes")
    return text
