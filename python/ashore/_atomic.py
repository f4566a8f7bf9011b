"""Write a file so that its name shows the old content or the new, never half of it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file beside `path` and move it there when the block ends without an error.

    On any error, an interrupt included, the new file is removed and what was at `path` stays. A
    symbolic link is followed; anything there but a regular file is refused with OSError.
    """
    target = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        mode = target.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if not stat.S_ISREG(mode):  # replacing /dev/null would be a bad surprise
            raise OSError(errno.EINVAL, "not a regular file", str(target))
    new = target.with_name(f".ashore-{os.urandom(6).hex()}.tmp")
    try:  # around the open too: an interrupt right after it must not leave the file behind
        with open(new, "xb") as file:
            yield file
        os.replace(new, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise
