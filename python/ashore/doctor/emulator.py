"""Whether the emulated GPU can be had: compiled already for the PyTorch found, or a compiler."""

from __future__ import annotations

import os

from ashore.doctor.builds import Build
from ashore.doctor.machine import Machine

_TRIED = ("2.13",)  # as ashore.emulate._torch_info has it; a test compares
_COMPILERS = ("g++", "clang++", "c++")


def emulator_state(machine: Machine, torch: Build | None) -> tuple[str, str]:
    """Return its state in words, and what stands against using it."""
    if torch is None:
        return "", "PyTorch is not installed: pip install 'ashore[torch,emulate]'"
    if torch.cuda is not None or torch.other:
        return "", f"it needs PyTorch's build for CPUs, not {torch.spelled}"
    if not torch.version.startswith(_TRIED):
        return "", f"it was tried with torch {_TRIED[-1]}, not {torch.version}"
    if _is_compiled(machine, torch):
        return f"compiled for torch {torch.version}", ""
    compiler = machine.environment.get("CXX") or next(filter(machine.which, _COMPILERS), None)
    if compiler is None:
        return "", "it is compiled on first use, and there is no C++ compiler: install g++"
    return f"to be compiled on first use, by {os.path.basename(compiler)}", ""


def _is_compiled(machine: Machine, torch: Build) -> bool:
    """Tell whether some entry of the cache was made for this version of PyTorch."""
    import json

    environment = machine.environment
    base = environment.get("ASHORE_CACHE_DIR") or (
        f"{environment['XDG_CACHE_HOME']}/ashore"
        if environment.get("XDG_CACHE_HOME")
        else os.path.expanduser("~/.cache/ashore")
    )
    for name in machine.names(f"{base}/emulator"):
        text = machine.read(f"{base}/emulator/{name}/manifest.json")
        try:
            if text and json.loads(text).get("torch") == torch.version:
                return True
        except (ValueError, AttributeError):
            continue
    return False
