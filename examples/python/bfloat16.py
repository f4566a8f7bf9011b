"""Save and compute with bfloat16 results: NumPy has no such dtype, ml_dtypes has."""

import ashore
import numpy as np
import torch

weights = torch.linspace(-1, 1, 5, dtype=torch.bfloat16)
array = ashore.to_numpy(weights)
print("dtype:", array.dtype, "same memory:", array.ctypes.data == weights.data_ptr())

# Arithmetic works; what needs a dtype of NumPy's own gets one, exactly.
print("doubled:", (array + array).tolist())
wide = ashore.to_numpy(weights, dtype="float32")
print("widened:", wide.dtype, np.array_equal(wide, weights.float().numpy()))

# Back: shared again, and a parameter if asked.
leaf = ashore.to_torch(array, requires_grad=True)
print("back:", leaf.dtype, "requires grad:", leaf.requires_grad)
