"""Try the wheel in a venv that has nothing else: `numpy`, `torch`, or `gpu` for the emulated one.
Called by `./dev wheel`, from the folder that holds the venv."""

from __future__ import annotations

import sys
from pathlib import Path

import ashore

VALUES = [[1.0, 2.0], [3.0, 4.0]]
what = sys.argv[1]
assert Path("venv").resolve() in Path(ashore.__file__).parents, ashore.__file__
assert "torch" not in sys.modules

if what == "numpy":
    import numpy

    made: object = numpy.array(VALUES)
else:
    if what == "gpu":
        ashore.emulate.start()
    import torch

    made = torch.tensor(VALUES, device="cuda" if what == "gpu" else "cpu")
assert ashore.to_numpy(made).tolist() == VALUES
print("try_wheel: the wheel brings", what, "ashore")
