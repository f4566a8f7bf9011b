"""What a call of a function of torch gives."""

from __future__ import annotations

import ast

from ashore.fix.facts import table
from ashore.fix.infer.devices import device_of, dtype_argument
from ashore.fix.infer.module import dotted
from ashore.fix.infer.scope import Scope
from ashore.fix.values import (
    UNKNOWN,
    Device,
    Grad,
    Value,
    as_tensor,
    element_of,
    tensor,
)

_FACTS = table("torch")
_FACTORIES = _FACTS.words("factories")
_LIKE = _FACTS.words("like_factories")
_INTEGER_FACTORIES = _FACTS.words("integer_factories")
_INTEGER_RESULTS = _FACTS.words("integer_results")
_NO_TENSOR = _FACTS.words("give_no_tensor")
_OPAQUE = _FACTS.words("opaque_submodules")
_STRUCTURED = _FACTS.words("structured_modules")
_PAIRS = _FACTS.words("pairs")
_ALWAYS_PAIRS = _FACTS.words("always_pairs")
_LISTS = _FACTS.words("lists")
_REDUCTIONS = _FACTS.words("reductions")
_TENSOR_MODULES = ("nn.functional.", "linalg.", "fft.", "special.", "ops.")

Keywords = dict[str, Value]


def torch_call(
    scope: Scope, node: ast.Call, name: str, args: list[Value], keywords: Keywords
) -> Value:
    """Return what `torch.<name>(…)` gives; `name` may be dotted."""
    last = name.rpartition(".")[2]
    if name == "device":
        return Value("device", (device_of(scope, node.args[0]) if node.args else None) or "unknown")
    if name.startswith("nn."):
        return _nn_call(scope, node, name, last, args, keywords)
    if name.startswith("utils.data."):
        return Value("loader") if last == "DataLoader" else UNKNOWN
    if name in ("jit.load", "jit.trace", "jit.script", "compile", "hub.load"):
        return args[0] if args and args[0].kind == "module" else Value("module")
    if name == "autograd.grad":
        return Value("list", element=tensor(origin=scope.origin("`autograd.grad`", node)))
    if name == "autograd.Variable":
        return args[0] if args else UNKNOWN
    if name.startswith("distributions."):
        return Value("distribution")
    if name.startswith("cuda.") and last.endswith("Tensor"):
        return tensor("accelerator", "no", origin=scope.origin(f"`torch.{name}`", node))
    if name == "load":
        return _load(scope, node)
    if last in _FACTORIES or last in _LIKE:
        return _made(scope, node, name, last, args)
    head = name.partition(".")[0]
    if not name.startswith(_TENSOR_MODULES) and "." in name and head in _OPAQUE:
        return UNKNOWN
    if last in _NO_TENSOR or last[:1].isupper() or last.startswith(("_", "is_", "set_")):
        return UNKNOWN
    return operation(scope, node, last, args, keywords, text=f"`torch.{name}(…)`")


def _nn_call(
    scope: Scope, node: ast.Call, name: str, last: str, args: list[Value], keywords: Keywords
) -> Value:
    if name.startswith("nn.functional."):
        scalar = "loss" in last or "entropy" in last
        scalar = scalar and "reduction" not in keywords
        text = f"`{last}(…)`"
        return operation(scope, node, last, args, keywords, text=text, scalar=scalar)
    if last == "clip_grad_norm_":
        device: Device = "named" if scope.module.mentions_device else "unknown"
        origin = scope.origin("`clip_grad_norm_`", node)
        return tensor(device, "no", scalar=True, origin=origin)
    if last == "pad_sequence":
        return operation(scope, node, last, args, keywords, text="`pad_sequence(…)`")
    if last == "Parameter":
        origin = scope.origin("a Parameter", node)
        return tensor(args[0].device if args else "unknown", "yes", origin=origin)
    if name.startswith(("nn.utils.", "nn.init.")) or not last[:1].isupper():
        return UNKNOWN
    if last in ("DataParallel", "DistributedDataParallel") and args:
        return args[0] if args[0].kind == "module" else Value("module")
    plain = "" if last in _STRUCTURED else "nn.loss" if last.endswith("Loss") else "nn"
    return Value("module", "cpu", class_name=plain)


def _load(scope: Scope, node: ast.Call) -> Value:
    where = next((k.value for k in node.keywords if k.arg == "map_location"), None)
    if where is None and len(node.args) > 1:
        where = node.args[1]
    on_cpu = where is not None and device_of(scope, where) == "cpu"
    return Value("loaded", "cpu" if on_cpu else "unknown")


def _made(scope: Scope, node: ast.Call, name: str, last: str, args: list[Value]) -> Value:
    device: Device = "unknown" if scope.module.default_device else "cpu"
    grad: Grad = "no"
    first = as_tensor(args[0]) if args else None
    if first is not None and (last in _LIKE or last in ("as_tensor", "asarray", "bernoulli")):
        device = first.device
    elif last in ("bernoulli", "normal", "complex"):
        device = first.device if first is not None else "unknown"
    for keyword in node.keywords:
        if keyword.arg == "device":
            device = device_of(scope, keyword.value) or "unknown"
        elif keyword.arg == "requires_grad":
            given = keyword.value
            grad = "yes" if isinstance(given, ast.Constant) and given.value else "unknown"
            if isinstance(given, ast.Constant) and not given.value:
                grad = "no"
    text = f"`torch.{name}(…)`"
    if device == "accelerator":
        text = f"`torch.{name}(…)` on an accelerator"
    elif device == "named":
        text = f"`torch.{name}(…)` on a device"
    if grad == "yes":
        text = f"`torch.{name}(…, requires_grad=True)`"
    scalar = last in ("tensor", "as_tensor") and bool(args) and args[0].kind == "plain"
    return tensor(
        device,
        grad,
        dtype="int" if last in _INTEGER_FACTORIES else dtype_argument(node),
        scalar=scalar and isinstance(node.args[0], ast.Constant | ast.BinOp | ast.Name | ast.Call),
        origin=scope.origin(text, node),
        taint=frozenset().union(*(value.taint for value in args)),
    )


def operation(
    scope: Scope,
    node: ast.Call,
    last: str,
    args: list[Value],
    keywords: Keywords,
    *,
    text: str,
    scalar: bool = False,
) -> Value:
    """Return what an operation on tensors gives: their device, their gradient."""
    tensors: list[Value] = []
    unsure = False
    for value in [*args, *keywords.values()]:
        inner = element_of(value) if value.kind in ("list", "tuple", "dict") else value
        made = as_tensor(inner)
        if made is not None:
            tensors.append(made)
            unsure = unsure or (made.weak and made.device != "accelerator")
        elif inner.kind in ("unknown", "either", "batch", "loaded"):
            unsure = True
    device: Device = "unknown"
    grad: Grad = "unknown"
    origin = scope.origin(text, node)
    for one in tensors:
        if one.device in ("named", "accelerator") and device != "accelerator":
            device = one.device
            origin = one.origin or origin
    if tensors and not unsure and all(one.device == "cpu" for one in tensors):
        device = "cpu"
    if any(one.grad == "yes" for one in tensors):
        grad = "yes"
        if device == "unknown" or device == "cpu":
            origin = next(one.origin for one in tensors if one.grad == "yes") or origin
    elif tensors and not unsure and all(one.grad == "no" for one in tensors):
        grad = "no"
    integers = last in _INTEGER_RESULTS
    if scope.no_grad or integers:
        grad = "no"
    has_dim = len(args) > 1 or "dim" in keywords or "axis" in keywords
    made = tensor(
        device,
        grad,
        dtype="int" if integers else _joint_dtype(tensors),
        scalar=scalar or (last in _REDUCTIONS and not has_dim),
        origin=origin,
        taint=frozenset().union(*(value.taint for value in args)),
    )
    return shaped(made, last, has_dim)


def _joint_dtype(tensors: list[Value]) -> str:
    dtypes = {one.dtype for one in tensors}
    return dtypes.pop() if len(dtypes) == 1 else ""


def shaped(value: Value, last: str, has_dim: bool) -> Value:
    """Return the structure in which an operation gives its tensors."""
    if last in _PAIRS and (has_dim or last in _ALWAYS_PAIRS):
        return Value("tuple", elements=(value, value._replace(grad="no", dtype="int")))
    if last in _LISTS:
        return Value("list", element=value)
    if last in ("svd", "qr", "eig", "eigh", "slogdet", "std_mean", "var_mean"):
        return Value("tuple", elements=(value,) * (3 if last == "svd" else 2))
    return value


def model_result(
    scope: Scope, node: ast.Call, device: Device, grad: Grad, class_name: str
) -> Value:
    """Return what a model gives; a tensor where its class says so."""
    origin = scope.origin(f"the result of `{dotted(node.func) or ast.unparse(node.func)}(…)`", node)
    dtype = "bfloat16" if scope.bfloat16 else ""
    if class_name in ("nn", "nn.loss"):
        scalar = class_name == "nn.loss"
        return tensor(device, grad, dtype=dtype, scalar=scalar, origin=origin)
    return Value("output", device, grad, dtype, origin=origin)
