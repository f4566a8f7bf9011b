"""A faked machine for `ashore doctor`: a tree of files, and a libcuda compiled for the test."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

DRIVER = "550.54.15"
LIBRARY = """
#include <string.h>
#include <unistd.h>
#include <stdlib.h>
int cuDriverGetVersion(int* v) { *v = VERSION; return 0; }
int cuInit(unsigned flags) { BEFORE; return INIT; }
int cuDeviceGetCount(int* n) { *n = COUNT; return 0; }
int cuDeviceGet(int* d, int i) { *d = i; return 0; }
int cuDeviceGetName(char* s, int n, int d) { strncpy(s, "NVIDIA Test", n); return 0; }
int cuDeviceGetAttribute(int* v, int a, int d) { *v = a == 75 ? MAJOR : 0; return 0; }
"""


@functools.cache
def library(version: int, init: int, count: int, before: str, major: int) -> bytes:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("the fake driver needs a C compiler")
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "cuda.c"), Path(folder, "cuda.so")
        source.write_text(LIBRARY)
        values = {"VERSION": version, "INIT": init, "COUNT": count, "BEFORE": before}
        flags = [f"-D{name}={value}" for name, value in {**values, "MAJOR": major}.items()]
        command = [compiler, "-shared", "-fPIC", "-o", made, *flags, source]
        subprocess.run(command, check=True)
        return made.read_bytes()


class Tree:
    """A faked machine, at first one that works: one GPU, its driver, a PyTorch that fits."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.env: dict[str, str] = {}
        self.write("/sys/bus/pci/devices/0000:00:01.0/vendor", "0x8086\n")
        self.write("/sys/bus/pci/devices/0000:00:01.0/class", "0x060400\n")
        self.gpu("0000:01:00.0", "0x10de")
        self.write(
            "/proc/driver/nvidia/version",
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER}  Tue Mar  5 22:23:56 2024\n"
            "GCC version:  gcc version 12.2.0\n",
        )
        self.write("/proc/modules", "nvidia_uvm 1 0 - Live\nnvidia 1 1 nvidia_uvm, Live\n")
        for node in ("nvidia0", "nvidiactl", "nvidia-uvm"):
            self.write(f"/dev/{node}", "")
        self.libcuda()
        self.torch("12.4")

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def remove(self, *names: str) -> None:
        for name in names:
            path = self.root / name.lstrip("/")
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def gpu(self, address: str, vendor: str, config: bytes = b"\xde\x10\x84\x26") -> None:
        folder = f"/sys/bus/pci/devices/{address}"
        self.write(f"{folder}/vendor", f"{vendor}\n")
        self.write(f"{folder}/class", "0x030000\n")
        self.write(f"{folder}/config", config)

    def libcuda(
        self,
        init: int = 0,
        count: int = 1,
        version: int = 12040,
        before: str = "",
        major: int = 8,
        driver: str = DRIVER,
        folder: str = "/usr/lib/x86_64-linux-gnu",
    ) -> None:
        link = self.root / folder.lstrip("/") / "libcuda.so.1"
        for old in link.parent.glob("libcuda.so*") if link.parent.exists() else ():
            old.unlink()
        made = self.write(
            f"{folder}/libcuda.so.{driver}", library(version, init, count, before, major)
        )
        link.symlink_to(made.name)

    def torch(self, cuda: str | None) -> None:
        tag = "cpu" if cuda is None else f"cu{cuda.replace('.', '')}"
        self.write(
            "/usr/lib/python3/dist-packages/torch/version.py",
            f"__version__ = '2.9.0+{tag}'\ndebug = False\n"
            f"cuda: Optional[str] = {cuda!r}\nhip: Optional[str] = None\n",
        )

    def no_driver(self) -> None:
        self.remove("/proc/driver", "/proc/modules", "/dev", "/usr/lib/x86_64-linux-gnu")
