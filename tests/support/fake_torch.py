"""A PyTorch and emulator sources of a few lines, so that building one takes a second; used by the
tests of the build."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

VERSION = """\
from typing import Optional
__version__ = '{version}'
cuda: Optional[str] = {cuda!r}
git_version = '0123456789abcdef'
"""

CORE = """\
#include "numbers.hpp"
struct Row { const char* name; int keys; };
static const Row kRows[] = {
#include "operators.inc"
};
extern "C" __attribute__((visibility("default"))) int number() { return kNumber + kRows[0].keys; }
"""

SURFACE = """\
#include <Python.h>
extern "C" int number();
static PyObject* get(PyObject*, PyObject*) { return PyLong_FromLong(number()); }
static PyMethodDef methods[] = {{"number", get, METH_NOARGS, nullptr}, {}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_ashore_cuda", nullptr, -1, methods};
PyMODINIT_FUNC PyInit__ashore_cuda() { return PyModule_Create(&module); }
"""

GENERATOR = """\
import os, pathlib, sys, time
time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
pathlib.Path(sys.argv[2], "operators.inc").write_text('{"aten::add", 2},\\n')
"""

BUILD = """\
import os, signal, sys
from pathlib import Path
from ashore.emulate._build import CannotEmulate, ensure_built
from ashore.emulate._build_sources import SourceTree
def build():
    return ensure_built(
        Path(sys.argv[1]), sources=SourceTree(Path(sys.argv[2])), force="force" in sys.argv
    )
def in_a_thread(build):
    def run():
        thread = threading.Thread(target=build)
        thread.start()
        thread.join()
    return run
exec(os.environ.pop("BEFORE", ""))
try:
    build = build()
except CannotEmulate as error:
    sys.exit(f"cannot: {error}")
sys.path.insert(0, str(build.surface.parent))
import _ashore_cuda
print(_ashore_cuda.number(), build.compiled, build.emulator.parent)
"""


def write_torch(root: Path, version: str = "2.13.0+cpu", cuda: str | None = None) -> Path:
    """Write what the build looks at, with libraries that hold nothing."""
    (root / "lib").mkdir(parents=True)
    (root / "include").mkdir()
    (root / "version.py").write_text(VERSION.format(version=version, cuda=cuda))
    for name in ("c10", "torch_cpu", "torch_python"):
        library = root / "lib" / f"lib{name}.so"
        command = ["g++", "-shared", "-Wl,--build-id", "-o", library, "-x", "c++", "-"]
        subprocess.run(command, input=b"extern int x; int x = 1;", check=True)
    return root


def write_sources(root: Path, number: int = 40) -> Path:
    """Write a tree whose emulator answers `number` + 2."""
    (root / "emulator" / "surface").mkdir(parents=True)
    for name, text in {
        "core.cpp": CORE,
        "numbers.hpp": f"constexpr int kNumber = {number};\n",
        "surface/module.cpp": SURFACE,
        "generate_operators.py": GENERATOR,
    }.items():
        (root / "emulator" / name).write_text(text)
    return root


def start_build(
    torch: Path, sources: Path, *words: str, before: str = "", **env: str
) -> subprocess.Popen[str]:
    """Start a process that builds, loads the result and says what it got."""
    process = subprocess.Popen(
        [sys.executable, "-c", BUILD, str(torch), str(sources), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "BEFORE": before, **env},
    )
    _builds.append(process)
    return process


_builds: list[subprocess.Popen[str]] = []


def end_builds() -> None:
    """End what a test that failed left running; an unclosed process would warn in a later one."""
    while _builds:
        with _builds.pop() as process:
            process.kill()


def write_slow_compiler(folder: Path) -> tuple[Path, Path]:
    """Write a compiler that never ends; return it and where it writes its child's number."""
    compiler, child = folder / "slow", folder / "child"
    compiler.write_text(
        "#!/bin/sh\n"
        '[ "$1" = --version ] && echo "g++ (slow) 12.0.0" && exit\n'
        f"sleep 60 &\necho $! > {child}.$$ && mv {child}.$$ {child}\nwait\n"
    )
    compiler.chmod(0o755)
    return compiler, child


def wait_for_number(file: Path, process: subprocess.Popen[str]) -> int:
    """Return the number in a file that a process is about to write."""
    deadline = time.monotonic() + 60
    while not file.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return int(file.read_text())


def is_alive(pid: int) -> bool:
    """Tell whether a process runs, soon after it may have been killed."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        if state == "S":
            return True
        time.sleep(0.01)
    return True
