"""The errors that are known: one row for each wording of PyTorch, NumPy and their friends.

`needle` is a part that every text of the row has; only then is `pattern` tried. `family` says how the
expression is found (`families.py`). `cause` and `repair` are filled with the pattern's named
groups; in `repair`, {x} is the expression, {device} where its partner is, {line} the line of code.
A template that begins with {x} replaces the expression in its line. The first row that fits counts.

Past 400 lines because it is one table, with a field a line.
"""

# ruff: noqa: E501  a pattern or sentence is easier to read whole

from __future__ import annotations

from typing import NamedTuple


class Wording(NamedTuple):
    """Say of one wording what it means and how it is repaired."""

    needle: str
    pattern: str
    family: str
    cause: str
    repair: str
    rule: str | None = None
    below: str = (
        ""  # a pattern that the line of the last frame must have, where the text says little
    )


_NO_GPU_REPAIR = '"cuda" if torch.cuda.is_available() else "cpu"'
_MOVE = "Both have to be on one device before they meet."
_DTYPE = "PyTorch does not convert between them by itself here."

WORDINGS = (
    # --- a tensor is read as an array ------------------------------------------------------------
    Wording(
        "convert",
        r"can't convert (?P<where>CUDA|(?:cuda|mps|xpu|hip|hpu|npu|xla|musa|privateuseone)(?::\d+)?)"
        r" (?:device type )?tens",
        "array",
        "The tensor is on an accelerator ({where}), and NumPy reads only the memory of the CPU. "
        "It has to be copied to the CPU first.",
        "{x}.detach().cpu()",
        "TN101",
    ),
    Wording(
        "convert",
        r"can't convert (?P<where>\w+) layout tensor to numpy",
        "array",
        "The tensor is stored in the {where} layout, which NumPy does not have. "
        "It has to be made dense first.",
        "{x}.to_dense()",
        "TN101",
    ),
    Wording(
        "to numpy",
        r"can't convert (?P<where>cuda|mps|xpu|hip|hpu|npu|xla|meta)\S*.{0,40}tensor.{0,20}to numpy",
        "array",
        "The tensor is on {where}, and NumPy reads only the memory of the CPU. "
        "It has to be copied to the CPU first.",
        "{x}.detach().cpu()",
        "TN101",
    ),
    Wording(
        "requires grad",
        r"Can't call (?:numpy|__array__)\(\) on (?:Tensor|Variable) that requires grad",
        "array",
        "The tensor belongs to a graph of gradients, and an array would leave that graph unseen. "
        "PyTorch wants it to be said with detach().",
        "{x}.detach()",
        "TN102",
    ),
    Wording(
        "conjugate bit",
        r"Can't call numpy\(\) on Tensor that has conjugate bit set",
        "array",
        "The tensor is a conjugate that was not computed yet, only marked by a bit. "
        "NumPy does not know that bit, so the values have to be computed first.",
        "{x}.resolve_conj()",
        "TN101",
    ),
    Wording(
        "negative bit",
        r"Can't call numpy\(\) on Tensor that has negative bit set",
        "array",
        "The tensor is a negation that was not computed yet, only marked by a bit. "
        "NumPy does not know that bit, so the values have to be computed first.",
        "{x}.resolve_neg()",
        "TN101",
    ),
    Wording(
        "unsupported ScalarType",
        r"Got unsupported ScalarType (?P<dtype>\w+)",
        "array",
        "The tensor's dtype is {dtype}, which NumPy does not have. "
        "It has to become float32 first; `.numpy(force=True)` does not help.",
        "{x}.float()",
        "TN103",
    ),
    Wording(
        "__array_interface__",
        r"'Tensor' object has no attribute '__array_interface__'",
        "call",
        "PIL takes NumPy arrays and was given a tensor. "
        "It has to be an array of height, width, channels in uint8.",
        "ashore.to_image({x})",
        "TN204",
    ),
    Wording(
        "cv::",
        r"Expected Ptr<cv::(?:UMat|Mat)> for argument '(?P<argument>\w+)'|src is not a numpy array",
        "call",
        "OpenCV takes NumPy arrays and was given a tensor. "
        "It has to be an array of height, width, channels.",
        "{x}.detach().cpu().numpy()",
        "TN204",
    ),
    Wording(
        "JSON serializable",
        r"(?:Object of type )?'?(?P<kind>Tensor|ndarray|Parameter|float16|float32|float64|int8|int16|int32|int64|"
        r"uint8|bool_?)'?.{0,60}is not JSON serializable|\) is not JSON serializable",
        "json",
        "JSON has neither tensors nor NumPy's numbers. They have to become Python's own first.",
        "default=lambda value: value.tolist()",
    ),
    # --- NumPy's functions that call the tensor's method -----------------------------------------
    Wording(
        "()",
        r"(?P<name>sum|mean|std|var|max|min|prod|any|all|amax|amin|ptp|round|clip|argmax|argmin|cumsum|cumprod|"
        r"sort|argsort|take|repeat|squeeze|transpose|reshape|diagonal|trace|flip)\(\)"
        r"(?: got an unexpected keyword argument '(?:axis|out|keepdims|ddof|dtype|where|initial)'"
        r"| received an invalid combination of arguments - got \((?=[^)]*(?:axis|out|ddof|keepdims)=)"
        r"|: argument 'dim' must be int, not NoneType)",
        "reduce",
        "NumPy's {name} calls the tensor's own {name} with arguments that PyTorch does not take. "
        "Give it an array, or use torch.{name}.",
        "{x}.detach().cpu().numpy()",
        "TN201",
    ),
    Wording(
        "could not infer output dtype",
        r"(?P<name>mean|std|var|std_mean|var_mean)\(\): could not infer output dtype",
        "method",
        "The tensor holds integers, and PyTorch takes a {name} only of floating point numbers. "
        "It has to be converted first.",
        "{x}.float()",
    ),
    Wording(
        "floating",
        r"(?:Can only calculate|can only compute) the (?P<name>mean|std|var)"
        r".{0,60}floating",
        "method",
        "The tensor holds integers, and PyTorch takes a {name} only of floating point numbers. "
        "It has to be converted first.",
        "{x}.float()",
    ),
    # --- arrays and tensors in one operation -----------------------------------------------------
    Wording(
        "unsupported operand type",
        r"unsupported operand type\(s\) for (?P<op>\S+): 'numpy\.(?P<left>ndarray)' and '(?:torch\.)?(?:\w*Tensor|Parameter)'",
        "operand",
        "The left side is a NumPy array, the right side a tensor on an accelerator or with a gradient. "
        "NumPy cannot read that tensor; PyTorch can do it if both are tensors.",
        "torch.as_tensor({x}, device={device})",
        "TN201",
    ),
    Wording(
        "unsupported operand type",
        r"unsupported operand type\(s\) for (?P<op>\S+): '(?:torch\.)?(?:\w*Tensor|Parameter)' and 'numpy\.(?P<right>\w+)'",
        "operand",
        "The left side is a tensor, the right side a NumPy array. "
        "PyTorch works on both only if both are tensors.",
        "torch.as_tensor({x}, device={device})",
        "TN201",
    ),
    Wording(
        "Concatenation operation",
        r"Concatenation operation is not implemented for NumPy arrays(?P<left>)",
        "operand",
        "The left side of + is a NumPy array, the right side something NumPy cannot read: "
        "a tensor on an accelerator or with a gradient. PyTorch can add them if both are tensors.",
        "torch.as_tensor({x}, device={device})",
        "TN201",
    ),
    # --- an array where PyTorch wants a tensor ---------------------------------------------------
    Wording(
        "must be Tensor, not",
        r"(?:(?P<callee>\w+)\(\): )?argument '(?P<argument>\w+)'(?: \(position (?P<position>\d+)\))? must be "
        r"(?P<wanted>Tensor|Variable), not (?P<kind>(?:numpy\.)?ndarray|numpy\.\w+)",
        "feed",
        "A NumPy array is given to PyTorch where it takes only tensors (argument '{argument}'). "
        "The array has to become a tensor of the model's dtype on the model's device.",
        "torch.as_tensor({x}, dtype={dtype}, device={device})",
        "TN301",
    ),
    Wording(
        "ndarray",
        r"must be (?:torch\.)?(?:Tensor|Variable), not (?P<kind>(?:numpy\.)?ndarray)"
        r"|expected (?:a )?Tensor.{0,20}got '?(?P<other>(?:numpy\.)?ndarray)",
        "feed",
        "A NumPy array is given to PyTorch where it takes only tensors. "
        "The array has to become a tensor of the model's dtype on the model's device.",
        "torch.as_tensor({x}, dtype={dtype}, device={device})",
        "TN301",
    ),
    Wording(
        "object is not callable",
        r"'int' object is not callable",
        "sized",
        "The target is a NumPy array, whose `size` is a number and no method. "
        "It has to become a tensor on the right device first.",
        "torch.as_tensor({x})",
        "TN301",
        r"\btarget\.size\(\)",
    ),
    Wording(
        "expected Tensor as element",
        r"expected Tensor as element (?P<element>\d+) in argument (?P<index>\d+), but got (?:numpy\.)?(?P<kind>ndarray|float\w*)",
        "elements",
        "The list holds NumPy arrays, and PyTorch joins only tensors. "
        "Each element has to become a tensor first.",
        "torch.as_tensor({x})",
        "TN301",
    ),
    Wording(
        "invalid combination of arguments",
        r"(?P<callee>\w+)\(\) received an invalid combination of arguments - got \((?P<got>[^)]*numpy\.ndarray[^)]*)",
        "feed",
        "A NumPy array is given to {callee}(), which takes only tensors. "
        "The array has to become a tensor of the model's dtype on the model's device.",
        "torch.as_tensor({x}, dtype={dtype}, device={device})",
        "TN301",
    ),
    Wording(
        "ndarray' object has no attribute",
        r"'numpy\.ndarray' object has no attribute '(?P<method>dim|size|unsqueeze|to|cuda|cpu|detach|float|long|permute|"
        r"view|requires_grad|numpy|item_|device|is_cuda|backward|log_softmax|softmax|contiguous|type|clone|double|half|new|new_zeros|ndimension)'",
        "attribute",
        "This is a NumPy array already, and arrays do not have a tensor's `{method}`. "
        "Leave the call out, or make it a tensor first.",
        "torch.as_tensor({x})",
        "TN301",
    ),
    Wording(
        "Tensor' object has no attribute",
        r"'(?:\w+\.)?Tensor' object has no attribute '(?P<method>astype|tobytes|flatten_|ravel_|tofile|newbyteorder|"
        r"nonzero_|toarray|itemsize_|columns|values_|iloc|fillna)'",
        "attribute",
        "This is a tensor, and `{method}` belongs to NumPy arrays. "
        "It has to become an array first, or use the tensor's own `.to(dtype)`.",
        "{x}.detach().cpu().numpy()",
        "TN101",
    ),
    Wording(
        "expected np.ndarray",
        r"expected np\.ndarray \(got (?P<kind>\w+)\)",
        "source",
        "torch.from_numpy takes only NumPy arrays and was given a {kind}. "
        "torch.as_tensor takes arrays, tensors, lists and numbers alike.",
        "np.asarray({x})",
    ),
    # --- arrays that PyTorch cannot take ---------------------------------------------------------
    Wording(
        "np.ndarray of type",
        r"can't convert np\.ndarray of type numpy\.(?P<dtype>object_|object)\b",
        "source",
        "The array holds Python objects: rows of different lengths, None, or text among numbers. "
        "PyTorch needs numbers of one dtype.",
        "{x}.astype(np.float32)",
    ),
    Wording(
        "np.ndarray of type",
        r"can't convert np\.ndarray of type numpy\.(?P<dtype>str_|bytes_|string_|unicode_)",
        "source",
        "The array holds text, which PyTorch does not have. Labels have to become numbers first.",
        "np.unique({x}, return_inverse=True)[1]",
    ),
    Wording(
        "np.ndarray of type",
        r"can't convert np\.ndarray of type numpy\.(?P<dtype>uint16|ushort)\b",
        "source",
        "This PyTorch has no {dtype}. The next larger dtype that it has takes every value.",
        "{x}.astype(np.int32)",
    ),
    Wording(
        "np.ndarray of type",
        r"can't convert np\.ndarray of type numpy\.(?P<dtype>uint32|uint64|uintc|ulonglong|datetime64|timedelta64)\b",
        "source",
        "This PyTorch has no {dtype}. The next larger dtype that it has is int64.",
        "{x}.astype(np.int64)",
    ),
    Wording(
        "np.ndarray of type",
        r"can't convert np\.ndarray of type (?:numpy\.)?(?P<dtype>bool_?)\b",
        "source",
        "This old PyTorch takes no arrays of bool. uint8 holds the same values.",
        "{x}.astype(np.uint8)",
    ),
    Wording(
        "np.ndarray of type",
        r"can't convert np\.ndarray of type (?:numpy\.)?(?P<dtype>\w+)",
        "source",
        "PyTorch has no dtype for arrays of {dtype}. They have to be converted first.",
        "{x}.astype(np.float32)",
    ),
    Wording(
        "negative",
        r"(?:strides? in|strides of) (?:the|a) given numpy array (?:is|are) negative"
        r"|tensors? with negative strides",
        "source",
        "The array is a view that walks backwards, as [::-1] and np.flip make it; tensors cannot. "
        "A copy lies in memory in its own order.",
        "{x}.copy()",
    ),
    Wording(
        "byte order",
        r"numpy array has byte order different from the native byte order",
        "source",
        "The numbers in the array have the other byte order, as files often do; tensors cannot. "
        "A copy with this machine's order is needed.",
        '{x}.astype({x}.dtype.newbyteorder("="))',
    ),
    Wording(
        "strides",
        r"numpy array strides not a multiple of the element byte size",
        "source",
        "The array's elements do not lie at whole multiples of their size, as in a field of records. "
        "A copy lies in memory closely.",
        "{x}.copy()",
    ),
    Wording(
        "not writ",
        r"given NumPy array is not writ(?:e)?able",
        "source",
        "The tensor would share memory that is read-only, and writing to it would be undefined. "
        "A copy is the tensor's own.",
        "{x}.copy()",
    ),
    # --- one number wanted -----------------------------------------------------------------------
    Wording(
        "elements cannot be converted to Scalar",
        r"a Tensor with (?P<count>\d+) elements cannot be converted to Scalar",
        "number",
        "The tensor has {count} elements, and a Python number is one. "
        "Reduce it first (mean, sum, an index), or take all with tolist().",
        "{x}.tolist()",
    ),
    Wording(
        "one element tensors can be converted",
        r"only one element tensors can be converted to Python scalars",
        "number",
        "A tensor of several elements is used where one number is wanted. "
        "Reduce or index it first; a list of tensors becomes a tensor with torch.stack.",
        "{x}.tolist()",
    ),
    Wording(
        "can be converted to Python scalars",
        r"only (?:length-1|size-1|0-dimensional|one element) arrays can be converted to Python scalars",
        "number",
        "An array of several elements is used where one number is wanted. "
        "Reduce or index it first, or take all with tolist().",
        "{x}.tolist()",
    ),
    Wording(
        "ambiguous",
        r"Boolean value of Tensor with (?:more than one value|no values) is ambiguous"
        r"|bool value of Tensor with more than one value is ambiguous",
        "truth",
        "A condition is one truth, and this tensor holds many. "
        "Say whether any or all of them must hold.",
        "({x}).all()",
    ),
    Wording(
        "Tensor.__format__",
        r"unsupported format string passed to Tensor\.__format__",
        "format",
        "A format like :.3f is for one number, and this tensor has several elements or a dimension. "
        "Take the number out of it first.",
        "{x}.item()",
    ),
    # --- devices that differ ---------------------------------------------------------------------
    Wording(
        "on the same device",
        r"Expected all tensors to be on the same device,? but got (?P<argument>\w+) is on (?P<wrong>[\w:]+), different from "
        r"other tensors on (?P<other>[\w:]+)(?:.*?in method (?P<method>\w+))?",
        "device",
        "'{argument}' is on {wrong} and the others are on {other}. " + _MOVE,
        "{x}.to({device})",
        "TN302",
    ),
    Wording(
        "on the same device",
        r"Expected all tensors to be on the same device.{0,40}found at least two devices, (?P<other>[\w:]+) and (?P<wrong>[\w:]+)!?"
        r"(?:.*?argument (?:for argument )?(?P<argument>\w+) in method (?P<method>\w+))?",
        "device",
        "One tensor is on {other} and one on {wrong}. " + _MOVE,
        "{x}.to({device})",
        "TN302",
    ),
    Wording(
        "on the same device",
        r"expected \w+ and \w+ to be on the same device, but got (?P<argument>\w+) on (?P<wrong>[\w:]+) and \w+ on (?P<other>[\w:]+)",
        "device",
        "'{argument}' is on {wrong} and its partner on {other}. " + _MOVE,
        "{x}.to({device})",
        "TN302",
    ),
    Wording(
        "on the same device",
        r"[Ee]xpected all tensors to be on the same device|(?:tensors?|arguments).{0,60}on the same device",
        "device",
        "The tensors of this operation are on different devices. " + _MOVE,
        "{x}.to({device})",
        "TN302",
    ),
    Wording(
        "same device as the indexed tensor",
        r"indices should be either on (?:the )?cpu or on the same device as the indexed tensor \((?P<other>[\w:]+)\)",
        "index",
        "The index is on an accelerator and the tensor that it picks from is on {other}. " + _MOVE,
        "{x}.to({device})",
        "TN302",
    ),
    Wording(
        "at the same device",
        r"Input and (?P<argument>hidden) tensors are not at the same device, found (?:input )?tensor at (?P<other>(?!cpu)[\w:]+) and "
        r"hidden tensor at (?P<wrong>cpu)",
        "device",
        "The input is on {other} and the hidden state on {wrong}. " + _MOVE,
        "{x}.to({device})",
        "TN302",
    ),
    Wording(
        "at the same device",
        r"Input and (?:parameter|hidden) tensors are not at the same device, found (?:input )?tensor at (?P<wrong>[\w:]+) and "
        r"(?:parameter|hidden) tensor at (?P<other>[\w:]+)",
        "device",
        "The input is on {wrong} and the model on {other}. " + _MOVE,
        "{x}.to({device})",
        "TN302",
    ),
    Wording(
        "and weight type",
        r"Input type \((?P<wrong>torch\.(?:cuda\.)?\w+Tensor|\w+)\) and (?:weight|bias) type \((?P<other>torch\.(?:cuda\.)?\w+Tensor|\w+)\)",
        "types",
        "The input is a {wrong} and the weights are {other}. " + _MOVE,
        "{x}.to({device})",
        "TN302",
    ),
    Wording(
        "and bias type",
        r"Input type \((?P<wrong>[\w:.]+)\) and bias type \((?P<other>[\w:.]+)\) should be the same",
        "types",
        "The input is {wrong} and the model's weights are {other}. " + _DTYPE,
        "{x}.to({device})",
        "TN302",
    ),
    Wording(
        "of device type",
        r"Expected object of device type (?P<other>\w+) but got device type (?P<wrong>\w+)(?: for argument #(?P<number>\d+) "
        r"'(?P<argument>\w+)' in call to (?P<method>\w+))?",
        "device",
        "One tensor is on {wrong} where the others are on {other}. " + _MOVE,
        "{x}.to({device})",
        "TN302",
    ),
    Wording(
        "of backend",
        r"Expected object of backend (?P<other>\w+) but got backend (?P<wrong>\w+)(?: for argument #(?P<number>\d+) '(?P<argument>\w+)')?",
        "device",
        "One tensor is on {wrong} where the others are on {other}. " + _MOVE,
        "{x}.to({device})",
        "TN302",
    ),
    Wording(
        "xpected object of type",
        r"[Ee]xpected (?:object of type|tensor for) (?P<other>torch\.(?:cuda\.)?\w+Tensor) but (?:found|got) type (?P<wrong>torch\.(?:cuda\.)?\w+Tensor)"
        r"(?: for argument #(?P<number>\d+) '(?P<argument>\w+)')?",
        "types",
        "One tensor is a {wrong} where the others are {other}. " + _MOVE,
        "{x}.to({device})",
        "TN302",
    ),
    # --- dtypes that differ ----------------------------------------------------------------------
    Wording(
        "scalar type Long",
        r"expected scalar type Long but (?:found|got) (?P<wrong>\w+)"
        r"|expected (?:object of )?scalar type Long but got (?:scalar type )?(?P<other>\w+)",
        "target",
        "Class labels and indices have to be integers of 64 bits (Long). This tensor has another dtype.",
        "{x}.long()",
        "TN302",
    ),
    Wording(
        "expected target dtype",
        r"expected target dtype to be Long or Byte,? but got (?P<wrong>\w+)",
        "target",
        "The loss wants its targets as class numbers (Long), and these are {wrong}. "
        "They have to be converted first.",
        "{x}.long()",
        "TN302",
    ),
    Wording(
        "index tensor",
        r"one_hot is only applicable to index tensor",
        "target",
        "Class numbers have to be integers of 64 bits (Long). This tensor has another dtype.",
        "{x}.long()",
        "TN302",
    ),
    Wording(
        "not implemented for",
        r"\"(?P<name>nll_loss\w*|cross_entropy\w*)\" not implemented for '(?P<wrong>\w+)'",
        "target",
        "The loss wants its targets as class numbers (Long), and these are {wrong}. "
        "They have to be converted first.",
        "{x}.long()",
        "TN302",
    ),
    Wording(
        "indices",
        r"Expected tensor for argument #\d+ 'indices' to have (?:one of the following )?scalar types?:? Long",
        "target",
        "Class labels and indices have to be integers (Long or Int). This tensor has another dtype.",
        "{x}.long()",
        "TN302",
    ),
    Wording(
        "not implemented for 'Half'",
        r"\"(?P<name>\w+)\" not implemented for 'Half'",
        "call",
        "PyTorch has no {name} for half precision on this device. It has to be done in float32.",
        "{x}.float()",
    ),
    Wording(
        "same dtype",
        r"mat1 and mat2 must have the same dtype(?:, but got (?P<wrong>[\w:]+) and (?P<other>[\w:]+))?",
        "dtype",
        "The two sides of a matrix product have different dtypes. " + _DTYPE,
        "{x}.to({dtype})",
        "TN302",
    ),
    Wording(
        "same dtype",
        r"expected (?:m1 and m2|both vectors|\w+ and \w+|both inputs) to have (?:the )?same dtype,? but (?:got:?|found) (?P<wrong>[\w:]+)(?: !=| and) (?P<other>[\w:]+)",
        "dtype",
        "The two sides have different dtypes, {wrong} and {other}. " + _DTYPE,
        "{x}.to({dtype})",
        "TN302",
    ),
    Wording(
        "scalar type",
        r"[Ee]xpected (?:object of )?scalar type (?P<other>\w+) but (?:found|got)(?: scalar type)? (?P<wrong>\w+)"
        r"(?: for argument #(?P<number>\d+) '(?P<argument>\w+)')?",
        "dtype",
        "One tensor is {wrong} where {other} is expected. " + _DTYPE,
        "{x}.to({dtype})",
        "TN302",
    ),
    Wording(
        "Found dtype",
        r"Found dtype (?P<wrong>\w+) but expected (?P<other>\w+)",
        "dtype",
        "One tensor is {wrong} where {other} is expected, mostly the targets of the loss. "
        + _DTYPE,
        "{x}.to({dtype})",
        "TN302",
    ),
    Wording(
        "desired output type",
        r"result type (?P<other>\w+) can't be cast to the desired output type (?P<wrong>\w+)",
        "cast",
        "The result is {other} and does not fit into a tensor of {wrong}; in a loss these are mostly the targets. "
        + _DTYPE,
        "{x}.float()",
        "TN302",
    ),
    Wording(
        "can't assign a numpy.ndarray",
        r"can't assign a numpy\.ndarray to a (?P<kind>torch\.[\w.]+)",
        "stored",
        "A NumPy array is put into a tensor ({kind}). It has to become a tensor of the same dtype and device first.",
        "torch.as_tensor({x})",
        "TN301",
    ),
    # --- gradients -------------------------------------------------------------------------------
    Wording(
        "leaf",
        r"(?:a view of )?a leaf [Vv]ariable that requires grad (?:is being|has been|was) used in an in-place operation",
        "statement",
        "A parameter is changed in place while PyTorch records the operations on it. "
        "An update by hand is not part of the graph and belongs under no_grad().",
        "with torch.no_grad(): {line}",
    ),
    Wording(
        "leaf",
        r"can't optimize a non-leaf Tensor",
        "optimized",
        "The optimizer was given the result of an operation (such as .cuda() or .to()) instead of a parameter. "
        "Make the tensor on its device first, then ask for gradients.",
        "{x}.detach().requires_grad_()",
    ),
    Wording(
        "does not require grad",
        r"element 0 of tensors does not require grad and does not have a grad_fn",
        "statement",
        "What backward() is called on does not depend on a parameter: it was detached, made under no_grad(), or went through NumPy. "
        "Keep the loss in PyTorch from the model's output to backward().",
        "loss = criterion(model(inputs), targets); loss.backward()",
        "TN201",
    ),
    # --- the GPU itself --------------------------------------------------------------------------
    Wording(
        "out of memory",
        r"CUDA (?:error: )?out of memory|(?:HIP|MPS backend) out of memory|cuda runtime error \(2\)",
        "memory",
        "The GPU has no memory left for this allocation. "
        "Most often the batch is too large, a graph is kept where none is needed, or losses are summed up as tensors.",
        "with torch.no_grad(): {line}",
    ),
    Wording(
        "device-side assert",
        r"device-side assert triggered",
        "script",
        "A kernel on the GPU found a value out of range, mostly a class label or index that is too large or negative. "
        "Kernels run later than their call, so the line shown may not be the one at fault: run again with waiting on.",
        "CUDA_LAUNCH_BLOCKING=1 python {script}",
    ),
    Wording(
        "illegal memory access",
        r"an illegal memory access was encountered",
        "script",
        "A kernel on the GPU read or wrote outside of its memory. "
        "Kernels run later than their call, so the line shown may not be the one at fault: run again with waiting on.",
        "CUDA_LAUNCH_BLOCKING=1 python {script}",
    ),
    Wording(
        "forked subprocess",
        r"Cannot re-initialize CUDA in forked subprocess",
        "fork",
        "The process had used the GPU before it forked, and CUDA does not survive a fork. "
        "Start workers with 'spawn', or leave the GPU to the main process.",
        'torch.multiprocessing.set_start_method("spawn", force=True)',
    ),
    Wording(
        "not compiled with CUDA",
        r"Torch not compiled with CUDA enabled|not linked with support for cuda",
        "cuda",
        "The PyTorch that runs is its build for CPUs and knows no GPU. "
        "Install a CUDA build (`ashore doctor` says which fits), or take the CPU where there is no GPU.",
        _NO_GPU_REPAIR,
    ),
    Wording(
        "No CUDA GPUs",
        r"No CUDA GPUs are available",
        "cuda",
        "PyTorch finds no GPU: none is there, CUDA_VISIBLE_DEVICES hides it, or the driver does not answer. "
        "`ashore doctor` says which; or take the CPU where there is no GPU.",
        _NO_GPU_REPAIR,
    ),
    Wording(
        "NVIDIA driver",
        r"Found no NVIDIA driver on your system|The NVIDIA driver on your system is too old"
        r"|CUDA driver version is insufficient",
        "cuda",
        "PyTorch needs a driver for the GPU, and there is none or it is too old. "
        "`ashore doctor` says which; or take the CPU where there is no GPU.",
        _NO_GPU_REPAIR,
    ),
    Wording(
        "Attempting to deserialize",
        r"Attempting to deserialize object on (?:a )?(?P<where>CUDA|cuda|mps|MPS)",
        "load",
        "The file holds tensors that were saved from a GPU, and there is none here. "
        "Say to which device they should go.",
        'map_location="cpu"',
    ),
    Wording(
        "invalid device ordinal",
        r"CUDA error: invalid device ordinal",
        "cuda",
        "The number of the GPU is larger than the number of GPUs that PyTorch sees. "
        "Take a smaller one, or look at CUDA_VISIBLE_DEVICES (`ashore doctor`).",
        _NO_GPU_REPAIR,
    ),
    Wording(
        "no kernel image",
        r"no kernel image is available for execution",
        "script",
        "This build of PyTorch has no code for this model of GPU. "
        "Install a build that has (`ashore doctor` says which fits).",
        "ashore doctor",
    ),
)
