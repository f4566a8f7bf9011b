"""Short ways into `ashore.fix` for the tests in tests/fix."""

from __future__ import annotations

from ashore.fix.project import Project
from ashore.fix.repair import repair, sites_of
from ashore.fix.sites import Level, Site
from ashore.fix.source import read_source

HEAD = """\
import numpy as np
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


def sites(code: str, path: str = "program.py") -> list[Site]:
    """Return the sites of a program."""
    return sites_of(read_source(path, code.encode()), Project())


def told(code: str, level: Level = Level.LIKELY, path: str = "program.py") -> list[str]:
    """Return rule and level of each site up to a level, behind the usual imports."""
    found = sites(HEAD + code, path)
    return [f"{site.rule} {site.level.word}" for site in found if site.level <= level]


def fixed_bytes(raw: bytes, level: Level = Level.LIKELY, unsafe: bool = False) -> bytes:
    """Return a file's bytes, repaired."""
    return repair(read_source("program.py", raw), Project(), level, unsafe).raw


def fixed(code: str, level: Level = Level.LIKELY, unsafe: bool = False) -> str:
    """Return a program, repaired, without the usual imports that are put before it."""
    return fixed_bytes((HEAD + code).encode(), level, unsafe).decode().removeprefix(HEAD)
