"""Convert whole structures at once: what a model returns, what a data loader gives, and back."""

from collections import namedtuple
from dataclasses import dataclass

import ashore
import torch

Output = namedtuple("Output", "logits hidden")


@dataclass
class Batch:
    """Hold what a loader might give: tensors beside things that are none."""

    features: torch.Tensor
    names: list[str]
    weight: float


output = Output(
    logits=torch.randn(2, 3, requires_grad=True),
    hidden=[torch.zeros(2, 4, dtype=torch.bfloat16), torch.ones(1).expand(1000)],
)
arrays = ashore.to_numpy(output)
print("the same type:", type(arrays).__name__, "with fields", arrays._fields)
print("hidden:", [str(array.dtype) for array in arrays.hidden])

batch = ashore.to_numpy(Batch(torch.ones(2, 3), ["a", "b"], weight=0.5))
print("a dataclass:", type(batch).__name__, batch.features.shape, batch.names, batch.weight)

# One dtype for every array in it.
print(
    "as float32:", [array.dtype.name for array in ashore.to_numpy(output.hidden, dtype="float32")]
)

# What happens to each, before it happens.
print(ashore.plan({"output": output, "step": 7}))

# And back to torch, again the same structure.
again = ashore.to_torch({"x": arrays.logits, "note": "kept"})
print("back:", {key: type(value).__name__ for key, value in again.items()})
