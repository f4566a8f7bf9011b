"""Ask libcuda what it sees, in a process of its own: it may hang, crash, or leave a context.

The process is a Python without site-packages that knows ctypes and nothing of ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

SECONDS = 10.0

_PROGRAM = """\
import ctypes, json, sys
said = {"loaded": False}
def tell(**more):
    said.update(more)
    print(json.dumps(said), flush=True)
try:
    cuda = ctypes.CDLL(sys.argv[1])
except OSError as error:
    tell(error=str(error))
    sys.exit()
tell(loaded=True)
number = ctypes.c_int(0)
try:
    if cuda.cuDriverGetVersion(ctypes.byref(number)) == 0:
        tell(version=number.value)
except AttributeError:
    pass
try:
    code = cuda.cuInit(0)
except AttributeError as error:
    tell(error=str(error))
    sys.exit()
tell(init=code)
if code == 0 and cuda.cuDeviceGetCount(ctypes.byref(number)) == 0:
    devices = []
    for ordinal in range(number.value):
        device, text = ctypes.c_int(0), ctypes.create_string_buffer(256)
        row = {"name": "", "major": 0, "minor": 0}
        try:
            cuda.cuDeviceGet(ctypes.byref(device), ordinal)
            cuda.cuDeviceGetName(text, 256, device)
            row["name"] = text.value.decode(errors="replace")
            value = ctypes.c_int(0)
            for key, which in (("major", 75), ("minor", 76)):
                if cuda.cuDeviceGetAttribute(ctypes.byref(value), which, device) == 0:
                    row[key] = value.value
        except AttributeError:
            pass
        devices.append(row)
    tell(devices=devices)
"""


class Device(NamedTuple):
    """One GPU as the driver's library names it."""

    name: str
    major: int
    minor: int


class Driver(NamedTuple):
    """What the library answered; `init` is cuInit's code, None if it never came back."""

    loaded: bool = False
    error: str = ""
    version: tuple[int, int] | None = None
    init: int | None = None
    devices: tuple[Device, ...] = ()
    ended: str = ""  # "hung" or "crashed" where it did not come to an answer


def ask(library: str, environment: Mapping[str, str], seconds: float = SECONDS) -> Driver:
    """Load the library, initialise it and count its devices, within a time limit."""
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM, library]
    ended = ""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError as error:
        return Driver(error=str(error))
    try:
        out, _ = process.communicate(timeout=seconds)
        ended = "crashed" if process.returncode else ""
    except subprocess.TimeoutExpired:
        ended = "hung"
        out = _stop(process)
    return _read(out, ended)


def _stop(process: subprocess.Popen[bytes]) -> bytes:
    process.kill()
    try:  # one that waits inside the kernel driver does not even die
        out, _ = process.communicate(timeout=1)
    except subprocess.TimeoutExpired as error:
        out = error.output or b""
    return out


def _read(out: bytes, ended: str) -> Driver:
    lines = out.decode(errors="replace").strip().split("\n")
    try:
        said = json.loads(lines[-1])
    except ValueError:
        return Driver(ended=ended or "crashed")
    number = said.get("version")
    return Driver(
        loaded=bool(said.get("loaded")),
        error=str(said.get("error", "")),
        version=(number // 1000, number % 1000 // 10) if number else None,
        init=said.get("init"),
        devices=tuple(Device(**row) for row in said.get("devices", ())),
        ended=ended,
    )


def find_library(folders: list[str]) -> str | None:
    """Return the first libcuda.so.1 in the folders."""
    for folder in folders:
        path = os.path.join(folder, "libcuda.so.1")
        if os.path.exists(path):
            return path
    return None
