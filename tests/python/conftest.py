"""For all Python tests: nanobind says at exit what the native module has leaked."""

from __future__ import annotations

from ashore import _core

_core.set_leak_warnings(True)
