"""Which builds of PyTorch, JAX and CuPy are installed, read from their files, never imported."""

from __future__ import annotations

import os
import re
import sys
from typing import NamedTuple

from ashore.doctor.machine import Machine

_FOLDERS = re.compile(r"(site|dist)-packages$")


class Build(NamedTuple):
    """One framework: its version and the CUDA it was built for; None for a build for CPUs."""

    name: str
    version: str
    cuda: tuple[int, int] | None
    other: str = ""  # "ROCm 6.2" and the like
    folder: str = ""

    @property
    def spelled(self) -> str:
        """Name, version and what it was built for, for messages."""
        made = f"CUDA {self.cuda[0]}.{self.cuda[1]}" if self.cuda else self.other or "CPUs"
        made = made.removesuffix(".-1")
        return f"{self.name} {self.version} (built for {made})"


def find_builds(machine: Machine) -> list[Build]:
    """Return the frameworks that Python finds on the machine, each once."""
    found: dict[str, Build] = {}
    for folder in _site_folders(machine):
        names = machine.names(folder)
        for build in (_torch(machine, folder, names), _jax(names), _cupy(names)):
            if build is not None:
                found.setdefault(build.name, build)
    return list(found.values())


def _site_folders(machine: Machine) -> list[str]:
    if machine.is_real:
        return [os.path.abspath(entry) for entry in sys.path if entry and os.path.isdir(entry)]
    folders = [entry for entry in sys.path if _FOLDERS.search(entry)]
    for base in ("/usr/lib", "/usr/local/lib", "/opt/conda/lib", "/opt/venv/lib", "/venv/lib"):
        for python in machine.names(base):
            if python.startswith("python3"):
                folders += [f"{base}/{python}/{kind}-packages" for kind in ("site", "dist")]
    return [folder for folder in folders if machine.exists(folder)]


def _torch(machine: Machine, folder: str, names: list[str]) -> Build | None:
    if "torch" not in names:
        return None
    text = machine.read(f"{folder}/torch/version.py")
    version = _value(text, "__version__") or _distribution(names, "torch")
    if not version:
        return None
    cuda = _pair(_value(text, "cuda"))
    if cuda is None and not text and (tag := re.search(r"\+cu(\d+)(\d)$", version)):
        cuda = (int(tag[1]), int(tag[2]))
    hip, xpu = _value(text, "hip"), _value(text, "xpu")
    other = f"ROCm {hip}" if hip else f"XPU {xpu}" if xpu else ""
    return Build("torch", version, cuda, other, f"{folder}/torch")


def _jax(names: list[str]) -> Build | None:
    version = _distribution(names, "jaxlib")
    if not version:
        return None
    plugins = [re.match(r"jax_cuda(\d+)_(?:plugin|pjrt)-", name) for name in names]
    major = next((int(plugin[1]) for plugin in plugins if plugin), None)
    if major is None and (tag := re.search(r"\+cuda(\d+)", version)):
        major = int(tag[1])
    return Build("jax", version, (major, -1) if major is not None else None)


def _cupy(names: list[str]) -> Build | None:
    for name in names:
        found = re.match(r"cupy_cuda(\d{2})(\d|x)-(.+)\.dist-info$", name)
        if found:
            minor = -1 if found[2] == "x" else int(found[2])
            return Build("cupy", found[3], (int(found[1]), minor))
    return None


def _distribution(names: list[str], package: str) -> str:
    pattern = re.compile(rf"{package}-(\d[^-]*)\.(?:dist|egg)-info$")
    return next((found[1] for name in names if (found := pattern.match(name))), "")


def _value(text: str, name: str) -> str | None:
    found = re.search(rf"^{name}\b[^=\n]*= *['\"]([^'\"]*)['\"]", text, re.MULTILINE)
    return found[1] if found else None


def _pair(version: str | None) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return (int(found[1]), int(found[2])) if found else None
