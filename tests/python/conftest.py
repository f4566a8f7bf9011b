"""For all Python tests: nanobind says at exit what the native module has leaked, and hypothesis
draws the same examples in every run."""

from __future__ import annotations

import hypothesis
from ashore import _core

_core.set_leak_warnings(True)

hypothesis.settings.register_profile(
    "house", derandomize=True, deadline=None, database=None, max_examples=100
)
hypothesis.settings.load_profile("house")
