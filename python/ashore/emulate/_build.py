"""Have the emulated GPU compiled for the installed PyTorch, once, and find it again; called by the
loader when it starts and by `ashore emulate build`."""

from __future__ import annotations

import hashlib
import platform
import sys
import time
from pathlib import Path
from typing import NamedTuple

from ashore.emulate._build_error import CannotEmulate
from ashore.emulate._build_progress import say
from ashore.emulate._build_sources import SourceTree, find_sources
from ashore.emulate._build_steps import EMULATOR, FLAGS, LINK_FLAGS, SURFACE, compile_all
from ashore.emulate._build_stops import stoppable
from ashore.emulate._cache import BuildCache, cache_folder
from ashore.emulate._compiler import find_compiler, no_compiler
from ashore.emulate._torch_info import read_torch, refuse_untried

__all__ = ["Build", "CannotEmulate", "ensure_built"]

_FORMAT = "1"  # of what is in an entry


class Build(NamedTuple):
    """The two libraries, whether they were compiled just now, and how long it all took."""

    emulator: Path
    surface: Path
    compiled: bool
    seconds: float


def ensure_built(
    torch_root: Path, *, force: bool = False, sources: SourceTree | None = None
) -> Build:
    """Return the emulator for the PyTorch in that folder, compiled first if the cache has none.

    Raises CannotEmulate, one line, and leaves nothing half done behind.
    """
    start = time.monotonic()
    torch = read_torch(torch_root)
    refuse_untried(torch)
    sources = sources or find_sources()
    content = sources.digest()
    compiler = find_compiler()
    abi = (sys.implementation.cache_tag, SURFACE, platform.machine())
    key = _digest(_FORMAT, content, *FLAGS, *LINK_FLAGS, *map(str, (*torch, *abi)))[:24]
    # Without a compiler that runs an entry of any will do: images keep the emulator and drop g++.
    name = f"{key}-{_digest(*compiler.command, compiler.version)[:8]}" if compiler else key
    cache = BuildCache(cache_folder(), say)

    def build_of(entry: Path, compiled: bool) -> Build:
        seconds = time.monotonic() - start
        return Build(entry / EMULATOR, entry / SURFACE, compiled, seconds)

    if not force and (entry := cache.find(name)):
        return build_of(entry, False)
    if compiler is None:
        raise no_compiler()
    with stoppable(), cache.lock():
        if not force and (entry := cache.find(name)):  # somebody was faster
            return build_of(entry, False)
        with cache.workshop() as folder:
            log = cache.folder / "failed.log"
            log.unlink(missing_ok=True)
            try:
                made = compile_all(compiler, sources, torch, folder, log)
            except BaseException as error:
                if not isinstance(error, CannotEmulate):  # which names the log
                    log.unlink(missing_ok=True)
                raise
            log.unlink(missing_ok=True)
            if sources.digest() != content:
                raise CannotEmulate("the emulator's sources changed meanwhile; try again")
            facts = {"torch": torch.version, "compiler": compiler.version}
            entry = cache.publish(made, name, facts)
    return build_of(entry, True)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
