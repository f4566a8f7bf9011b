"""What there is to know of an installed PyTorch without importing it; asked by the build."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ashore.emulate._build_error import CannotEmulate

# The minor versions whose interfaces the emulator was tried against.
TRIED = ("2.13",)
ANY_TORCH = "ASHORE_ANY_TORCH"

_PT_NOTE = 4
_NT_GNU_BUILD_ID = 3


class TorchBuild(NamedTuple):
    """Tell one build of PyTorch from every other."""

    root: Path
    version: str
    git_version: str
    cuda: str | None
    library_id: str

    @property
    def minor(self) -> str:
        """The version's first two numbers."""
        return ".".join(self.version.split(".")[:2])


def find_torch() -> Path:
    """Return the folder of the `torch` that an import would take, or raise CannotEmulate."""
    from importlib.util import find_spec

    try:
        spec = find_spec("torch")
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        raise CannotEmulate("PyTorch is not installed here: pip install 'ashore[torch]'")
    return Path(spec.origin).parent


def read_torch(root: Path) -> TorchBuild:
    """Read which build of PyTorch lies in the folder, or raise CannotEmulate."""
    try:
        text = (root / "version.py").read_text(encoding="utf-8")
        library_id = _library_id(root / "lib" / "libtorch_cpu.so")
    except (OSError, ValueError) as error:
        raise CannotEmulate(
            f"{root} is no PyTorch that can be emulated for ({error}); install PyTorch for Linux"
        ) from error
    version = _value(text, "__version__")
    if version is None:
        raise CannotEmulate(f"{root / 'version.py'} names no version; install PyTorch again")
    return TorchBuild(
        root, version, _value(text, "git_version") or "", _value(text, "cuda"), library_id
    )


def refuse_untried(torch: TorchBuild) -> None:
    """Raise CannotEmulate for a PyTorch that nobody tried, unless the user asks for it."""
    if os.environ.get(ANY_TORCH, "") not in ("", "0"):
        return
    way_out = f"install torch {TRIED[-1]}, or set {ANY_TORCH}=1 to try it all the same"
    if torch.minor not in TRIED:
        raise CannotEmulate(f"the emulated GPU was not tried with torch {torch.version}: {way_out}")
    if torch.cuda is not None:
        raise CannotEmulate(
            f"torch {torch.version} is a build for real GPUs, the emulated one needs the build for "
            f"CPUs: {way_out}"
        )


def _value(text: str, name: str) -> str | None:
    found = re.search(rf"^{name}\b[^=\n]*= *['\"]([^'\"]*)['\"]", text, re.MULTILINE)
    return found[1] if found else None


def _library_id(path: Path) -> str:
    """Return the linker's build id of a library, else its size and time of change."""
    with path.open("rb") as file:
        build_id = _build_id(file)
        if build_id:
            return build_id.hex()
        status = os.fstat(file.fileno())
        return f"{status.st_size}-{status.st_mtime_ns}"


def _build_id(file: BinaryIO) -> bytes:
    """Read the NT_GNU_BUILD_ID note of a 64-bit little-endian ELF file, b"" if it has none."""
    header = file.read(64)
    if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{file.name}: not a 64-bit ELF library")
    offset = struct.unpack_from("<Q", header, 32)[0]
    size, count = struct.unpack_from("<HH", header, 54)
    if size < 56:
        raise ValueError(f"{file.name}: damaged")
    file.seek(offset)
    table = file.read(size * count)
    for start in range(0, len(table) - 55, size):
        kind, _, where = struct.unpack_from("<IIQ", table, start)
        length = struct.unpack_from("<Q", table, start + 32)[0]
        if kind == _PT_NOTE:
            file.seek(where)
            found = _note(file.read(min(length, 1 << 20)))
            if found:
                return found
    return b""


def _note(data: bytes) -> bytes:
    position = 0
    while position + 12 <= len(data):
        name_size, size, kind = struct.unpack_from("<III", data, position)
        name = position + 12
        content = name + (name_size + 3 & ~3)
        if kind == _NT_GNU_BUILD_ID and data[name : name + name_size] == b"GNU\0":
            return data[content : content + size]
        position = content + (size + 3 & ~3)
    return b""
