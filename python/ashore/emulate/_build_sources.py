"""Where the emulator's sources lie, and their digest; asked by the build."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from ashore.emulate._build_error import CannotEmulate

# What of the tree goes into the libraries: folder, patterns.
_PARTS = (
    ("emulator", ("*.cpp", "*.hpp", "*.py", "surface/*.cpp", "surface/*.hpp", "tables/*.yaml")),
    (
        "src/device",
        ("driver_api.hpp", "driver_functions.inc", "driver_table.hpp", "simulator_api.hpp"),
    ),
)


class SourceTree:
    """A folder with `emulator/` and the headers of `src/` that it needs."""

    def __init__(self, root: Path) -> None:
        """Refuse a folder without an emulator."""
        self.root = root
        self.core = sorted((root / "emulator").glob("*.cpp"))
        self.surface = sorted((root / "emulator" / "surface").glob("*.cpp"))
        self.generator = root / "emulator" / "generate_operators.py"
        if not self.core or not self.surface or not self.generator.is_file():
            raise CannotEmulate(
                f"this ashore has no emulator sources ({root / 'emulator'}); install it again"
            )

    @property
    def include_folders(self) -> list[Path]:
        """Where the sources look for headers of ours."""
        return [self.root / "emulator", self.root / "src", self.root]

    def files(self) -> Iterator[Path]:
        """Yield every file that may change the libraries, in a fixed order."""
        for folder, patterns in _PARTS:
            for pattern in patterns:
                yield from sorted((self.root / folder).glob(pattern))

    def digest(self) -> str:
        """Return a digest of all names and contents."""
        whole = hashlib.sha256()
        for path in self.files():
            content = path.read_bytes()
            whole.update(f"{path.relative_to(self.root)}\0{len(content)}\0".encode())
            whole.update(content)
        return whole.hexdigest()


def find_sources() -> SourceTree:
    """Return the sources that belong to this package: in the wheel, else of the checkout."""
    here = Path(__file__).resolve()
    packaged = here.parents[1] / "_emulator"
    return SourceTree(packaged if packaged.is_dir() else here.parents[3])
