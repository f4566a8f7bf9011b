"""The families of errors by name: which function finds the expression and the repair of each."""

from __future__ import annotations

from importlib import import_module

from ashore.explain.repair import Case, Found

# Only the module that is needed is imported.
FAMILIES = {
    "array": "arrays.array",
    "attribute": "scalars.attribute",
    "call": "arrays.call",
    "cast": "meetings.cast",
    "cuda": "gpu.cuda",
    "device": "meetings.device",
    "dtype": "meetings.dtype",
    "elements": "tensors.elements",
    "feed": "tensors.feed",
    "fork": "gpu.fork",
    "format": "scalars.formatted",
    "index": "tensors.index",
    "json": "scalars.json",
    "load": "gpu.load",
    "memory": "gpu.memory",
    "method": "arrays.method",
    "number": "scalars.number",
    "operand": "tensors.operand",
    "optimized": "gpu.optimized",
    "reduce": "arrays.reduce",
    "script": "gpu.script",
    "sized": "tensors.sized",
    "source": "tensors.source",
    "statement": "gpu.statement",
    "stored": "meetings.stored",
    "target": "meetings.target",
    "truth": "scalars.truth",
    "types": "meetings.types",
}


def find(family: str, case: Case) -> Found | None:
    """Return what the family finds in the case."""
    module, _, name = FAMILIES[family].partition(".")
    found: Found | None = getattr(import_module(f"ashore.explain.{module}"), name)(case)
    return found
