"""Every row of the table of wordings is met by a message, and by no earlier row's pattern."""

from __future__ import annotations

import re

import pytest
from ashore.explain.explanation import match
from ashore.explain.families import FAMILIES
from ashore.explain.wordings import WORDINGS

CPU = "Use Tensor.cpu() to copy the tensor to host memory first."
OPERAND = "unsupported operand type(s) for /: "

# A message, the family that it belongs to, and a part of the repair or of the cause.
MESSAGES = [
    (f"can't convert CUDA tensor to numpy. {CPU}", "array", "CUDA"),
    (f"can't convert cuda:0 device type tensor to numpy. {CPU}", "array", "cuda:0"),
    (f"can't convert mps:0 device type tensor to numpy. {CPU}", "array", "mps:0"),
    (f"can't convert xpu:1 device type tensor to numpy. {CPU}", "array", "xpu:1"),
    ("can't convert CUDA tensor to numpy (it doesn't support GPU arrays).", "array", ".cpu()"),
    ("can't convert meta device tensor back to numpy", "array", "meta"),
    ("can't convert Sparse layout tensor to numpy.", "array", ".to_dense()"),
    ("can't convert SparseCsr layout tensor to numpy.", "array", "SparseCsr"),
    ("Can't call numpy() on Variable that requires grad. Use var.detach()", "array", ".detach()"),
    ("Can't call numpy() on Tensor that requires grad.", "array", ".detach()"),
    ("Can't call numpy() on Tensor that has conjugate bit set.", "array", "resolve_conj"),
    ("Can't call numpy() on Tensor that has negative bit set.", "array", "resolve_neg"),
    ("Got unsupported ScalarType BFloat16", "array", ".float()"),
    ("'Tensor' object has no attribute '__array_interface__'", "call", "to_image"),
    ("Expected Ptr<cv::UMat> for argument 'src'", "call", "OpenCV"),
    ("Object of type Tensor is not JSON serializable", "json", "tolist"),
    ("Object of type float32 is not JSON serializable", "json", "tolist"),
    ("tensor([1.]) is not JSON serializable", "json", "tolist"),
    ("sum() got an unexpected keyword argument 'axis'", "reduce", "sum"),
    (
        "mean() received an invalid combination of arguments - got (dtype=NoneType, out=NoneType, "
        "axis=NoneType, ), but expected one of: *",
        "reduce",
        "mean",
    ),
    ("max(): argument 'dim' must be int, not NoneType", "reduce", "max"),
    ("mean(): could not infer output dtype. Input dtype must be", "method", ".float()"),
    ("Can only calculate the mean of floating types. Got Long instead.", "method", "mean"),
    (OPERAND + "'numpy.ndarray' and 'Tensor'", "operand", "left"),
    (OPERAND + "'Tensor' and 'numpy.ndarray'", "operand", "right side a NumPy array"),
    ("Concatenation operation is not implemented for NumPy arrays", "operand", "left side of +"),
    (
        "linear(): argument 'input' (position 1) must be Tensor, not numpy.ndarray",
        "feed",
        "'input'",
    ),
    ("expected a Tensor, got numpy.ndarray", "feed", "as_tensor"),
    (
        "expected Tensor as element 0 in argument 0, but got numpy.ndarray",
        "elements",
        "Each element",
    ),
    (
        "conv2d() received an invalid combination of arguments - got (numpy.ndarray, Parameter)",
        "feed",
        "conv2d()",
    ),
    ("'numpy.ndarray' object has no attribute 'unsqueeze'", "attribute", "unsqueeze"),
    ("'Tensor' object has no attribute 'astype'", "attribute", "astype"),
    ("expected np.ndarray (got Tensor)", "source", "Tensor"),
    ("can't convert np.ndarray of type numpy.object_. The only", "source", "float32"),
    ("can't convert np.ndarray of type numpy.str_. The only", "source", "unique"),
    ("can't convert np.ndarray of type numpy.uint16. The only", "source", "int32"),
    ("can't convert np.ndarray of type numpy.uint64.", "source", "int64"),
    ("can't convert np.ndarray of type numpy.bool_.", "source", "uint8"),
    ("can't convert np.ndarray of type numpy.float128.", "source", "float32"),
    ("At least one stride in the given numpy array is negative", "source", ".copy()"),
    ("some of the strides of a given numpy array are negative.", "source", ".copy()"),
    ("given numpy array has byte order different from the native byte order.", "source", "order"),
    ("given numpy array strides not a multiple of the element byte size", "source", ".copy()"),
    ("The given NumPy array is not writable, and PyTorch does not", "source", ".copy()"),
    ("The given NumPy array is not writeable, and PyTorch does not", "source", ".copy()"),
    ("a Tensor with 3 elements cannot be converted to Scalar", "number", "3 elements"),
    ("only one element tensors can be converted to Python scalars", "number", "tolist"),
    ("only length-1 arrays can be converted to Python scalars", "number", "array"),
    ("Boolean value of Tensor with more than one value is ambiguous", "truth", ".all()"),
    ("unsupported format string passed to Tensor.__format__", "format", ".item()"),
    (
        "Expected all tensors to be on the same device, but got mat1 is on cpu, different from "
        "other tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)",
        "device",
        "'mat1' is on cpu",
    ),
    (
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 "
        "and cpu! (when checking argument for argument target in method wrapper_nll_loss)",
        "device",
        "cuda:0",
    ),
    ("expected all tensors to be on the same device. Expected NPU tensor", "device", ".to("),
    ("expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
     "device", "'mask' is on cpu"),
    ("indices should be either on cpu or on the same device as the indexed tensor (cpu)", "index",
     "index"),
    (
        "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and "
        "hidden tensor at cpu",
        "device",
        "hidden state on cpu",
    ),
    (
        "Input and parameter tensors are not at the same device, found input tensor at cpu and "
        "parameter tensor at cuda:0",
        "device",
        "input is on cpu",
    ),
    (
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the sam",
        "types",
        "torch.FloatTensor",
    ),
    ("Input type (double) and bias type (float) should be the same", "types", "double"),
    ("Input type (c10::Half) and bias type (float) should be the same", "types", "Half"),
    ("Expected object of device type cuda but got device type cpu for argument #1 'self' in call "
     "to _th_mm", "device", "cpu"),
    ("Expected object of backend CUDA but got backend CPU for argument #2 'mat2'", "device", "CPU"),
    ("Expected object of type torch.cuda.FloatTensor but found type torch.FloatTensor for argument "
     "#2 'weight'", "types", "torch.FloatTensor"),
    ("expected scalar type Long but found Float", "target", ".long()"),
    ("expected target dtype to be Long or Byte, but got Int", "target", ".long()"),
    ("one_hot is only applicable to index tensor of type LongTensor.", "target", ".long()"),
    ("\"nll_loss_forward_reduce_cuda_kernel_2d_index\" not implemented for 'Int'", "target", "Int"),
    ("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
     "Int", "target", ".long()"),
    ("\"addmm_impl_cpu_\" not implemented for 'Half'", "call", "half precision"),
    ("mat1 and mat2 must have the same dtype, but got Double and Float", "dtype", "matrix"),
    ("expected m1 and m2 to have the same dtype, but got: float != double", "dtype", "float"),
    ("expected scalar type Double but found Float", "dtype", "Double"),
    ("result type Float can't be cast to the desired output type Long", "cast", ".float()"),
    ("can't assign a numpy.ndarray to a torch.cuda.FloatTensor", "stored", "as_tensor"),
    ("Found dtype Double but expected Float", "dtype", "targets"),
    ("a leaf Variable that requires grad is being used in an in-place operation.", "statement",
     "no_grad"),
    ("a leaf Variable that requires grad has been used in an in-place operation.", "statement",
     "no_grad"),
    ("can't optimize a non-leaf Tensor", "optimized", "optimizer"),
    ("element 0 of tensors does not require grad and does not have a grad_fn", "statement",
     "backward"),
    ("CUDA out of memory. Tried to allocate 2.00 GiB.", "memory", "no_grad"),
    ("CUDA error: device-side assert triggered", "script", "CUDA_LAUNCH_BLOCKING"),
    ("CUDA error: an illegal memory access was encountered", "script", "CUDA_LAUNCH_BLOCKING"),
    ("Cannot re-initialize CUDA in forked subprocess. To use CUDA", "fork", "spawn"),
    ("Torch not compiled with CUDA enabled", "cuda", "is_available"),
    ("No CUDA GPUs are available", "cuda", "doctor"),
    ("Found no NVIDIA driver on your system.", "cuda", "doctor"),
    ("Attempting to deserialize object on a CUDA device but torch.cuda.is_available()", "load",
     "map_location"),
    ("CUDA error: invalid device ordinal", "cuda", "number of GPUs"),
    ("CUDA error: no kernel image is available for execution on the device", "script", "build"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "family", "part"), MESSAGES)
def test_a_message_is_known(message: str, family: str, part: str) -> None:
    found = match(message)
    assert found is not None
    wording, groups = found
    assert wording.family == family
    filled = wording.cause.format_map({**dict.fromkeys(_names(wording.cause), ""), **groups})
    assert part in filled or part in wording.repair


def _names(template: str) -> list[str]:
    return re.findall(r"{(\w+)}", template)


def test_a_text_that_says_little_is_known_by_the_line_below() -> None:
    assert match("'int' object is not callable") is None
    assert match("'int' object is not callable", "n = len(rows)()") is None
    found = match("'int' object is not callable", "if not (target.size() == input.size()):")
    assert found is not None and found[0].family == "sized"


def test_every_row_is_met() -> None:
    met = {id(found[0]) for message, _, _ in MESSAGES if (found := match(message))}
    met |= {id(row) for row in WORDINGS if row.below}
    missed = [row.pattern for row in WORDINGS if id(row) not in met]
    assert not missed


@pytest.mark.parametrize("row", WORDINGS, ids=lambda row: row.pattern[:40])
def test_a_row_is_well_made(row) -> None:
    assert row.family in FAMILIES
    groups = set(re.compile(row.pattern).groupindex)
    assert set(_names(row.cause)) <= groups
    assert set(_names(row.repair)) <= {"x", "device", "dtype", "line", "script"} | groups
    assert row.cause.endswith((".", ".  "))


@pytest.mark.parametrize(
    "message",
    ["No such file or directory", "division by zero", "'NoneType' object is not callable"],
)
def test_other_errors_are_not_known(message: str) -> None:
    assert match(message) is None
