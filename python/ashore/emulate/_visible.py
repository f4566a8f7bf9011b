"""CUDA_VISIBLE_DEVICES: how many of the emulated devices a program sees, and that nothing in its
process sees a real one; used when the device starts.

os.environ shows the program's own value. What real CUDA reads is the environment of C: there the
value begins with a word that names no device, `ashore` where the program has none of its own, else
`ashore:VALUE`. That is also what children inherit, who find the program's own value in it.
"""

from __future__ import annotations

import os

NAME = "CUDA_VISIBLE_DEVICES"
_HIDDEN = "ashore"


def reveal() -> None:
    """Let os.environ show the program's own value, if a parent hid the real devices."""
    word, colon, own = os.environ.get(NAME, "").partition(":")
    if word == _HIDDEN:
        if colon:
            os.environ[NAME] = own
        else:
            del os.environ[NAME]


def hide_real_devices() -> None:
    """Let real CUDA, in this process and its children, see no device."""
    own = os.environ.get(NAME)
    os.putenv(NAME, _HIDDEN if own is None else f"{_HIDDEN}:{own}")


def count_visible(devices: int) -> int:
    """Return how many of the devices are visible, by CUDA's rules: up to the first wrong name."""
    value = os.environ.get(NAME)
    if value is None:
        return devices
    seen: list[int] = []
    for word in value.split(","):
        text = word.strip()
        if not text.isdecimal() or int(text) >= devices:
            break
        seen.append(int(text))
    return 0 if len(set(seen)) != len(seen) else len(seen)
