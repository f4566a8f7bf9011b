"""The fixtures that build against the installed package."""

from stranger import prefix, torch_cmake  # noqa: F401
