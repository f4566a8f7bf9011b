"""What a method call gives, by what it is called on: tensors, models, containers, arrays."""

from __future__ import annotations

import ast

from ashore.fix.facts import table
from ashore.fix.infer.devices import device_argument, dtype_argument
from ashore.fix.infer.functions import call_function
from ashore.fix.infer.models import call_module, looks_like_model
from ashore.fix.infer.of_torch import shaped
from ashore.fix.infer.scope import Scope, key_of
from ashore.fix.meetings import ToNumpy
from ashore.fix.values import (
    ARRAY,
    PLAIN,
    UNKNOWN,
    Grad,
    Value,
    as_tensor,
    element_of,
    join,
    join_elements,
    tensor,
)

_FACTS = table("torch")
_ONLY_TENSORS = _FACTS.words("only_tensors_have")
_GIVE_TENSOR = _FACTS.words("give_tensor")
_PLAIN_METHODS = _FACTS.words("plain_methods")
_INTEGERS = _FACTS.words("integer_results")
_REDUCTIONS = _FACTS.words("reductions")
_KEEPS_SCALAR = _FACTS.words("keeps_scalar")
_SHARED = _FACTS.words("shared_with_arrays")
_NARROWS = _ONLY_TENSORS - {"cpu", "cuda", "half", "bfloat16", "detach", "pin_memory", "gather"}
_NOT_PLAIN = _NARROWS | {"cpu", "cuda", "detach"}  # what was taken for a number is a tensor
_MODEL_CALLS = ("forward", "generate", "encode", "decode", "sample")
_DTYPES = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16"}
_GRADLESS = ("long", "int", "bool", "byte", "short")

Keywords = dict[str, Value]


def method_call(
    scope: Scope,
    node: ast.Call,
    func: ast.Attribute,
    receiver: Value,
    args: list[Value],
    keywords: Keywords,
) -> Value | None:
    """Return what `receiver.method(…)` gives, None where nothing is known of it."""
    name = func.attr
    if name == "numpy" and not args:
        return _to_numpy(scope, node, func, receiver)
    if name == "backward":
        scope.run.backward |= receiver.taint
        return PLAIN
    kind = receiver.kind
    if kind == "tensor":
        return of_tensor(scope, node, func, receiver, args, keywords)
    if kind == "output" and (name in _ONLY_TENSORS or name in _GIVE_TENSOR) and name != "to":
        made = as_tensor(receiver)
        assert made is not None
        return of_tensor(scope, node, func, made, args, keywords)
    if kind == "output" and name == "to":
        return _moved(scope, node, receiver)
    if kind == "plain" and name in _NOT_PLAIN:
        return _of_unknown(scope, node, func, Value(param=receiver.param), args)
    if kind in ("list", "dict", "tuple", "plain"):
        return _of_container(scope, node, func, receiver, args)
    if kind == "array":
        if name in ("tolist", "item", "tobytes"):
            return PLAIN
        alias = receiver.alias if name in ("reshape", "ravel", "transpose", "squeeze") else None
        return receiver._replace(alias=alias)
    if kind == "module":
        return _of_module(scope, node, func, receiver, args, keywords)
    if kind == "object":
        return _of_object(scope, node, func, receiver, args, keywords)
    if kind == "distribution":
        return tensor(grad="no" if name == "sample" else "unknown", weak=name == "entropy")
    return _of_unknown(scope, node, func, receiver, args)


def _to_numpy(scope: Scope, node: ast.Call, func: ast.Attribute, receiver: Value) -> Value:
    at = (node.lineno, node.end_col_offset or 0)
    array = ARRAY._replace(taint=frozenset({at}), alias=at)
    if receiver.kind in ("array", "object", "plain", "distribution", "estimator", "list", "dict"):
        return ARRAY
    if any(keyword.arg == "force" for keyword in node.keywords):
        return ARRAY
    if isinstance(func.value, ast.Name) and func.value.id in scope.module.imports:
        return ARRAY
    if scope.module.foreign and receiver.kind == "unknown":
        return ARRAY  # as likely a tensor of another library
    scope.run.meet(ToNumpy(node, scope.context(), func.value, receiver))
    return array


def of_tensor(
    scope: Scope,
    node: ast.Call,
    func: ast.Attribute,
    receiver: Value,
    args: list[Value],
    keywords: Keywords,
) -> Value | None:
    """Return what a method of a tensor gives."""
    name = func.attr
    if name == "cpu":
        return receiver._replace(device="cpu", weak=False)
    if name == "cuda":
        origin = scope.origin("`.cuda()`", node)
        return receiver._replace(device="accelerator", weak=False, origin=origin)
    if name == "to":
        return _moved(scope, node, receiver)
    if name in ("detach", "detach_"):
        return receiver._replace(grad="no")
    if name == "requires_grad_":
        if node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value is False:
            return receiver._replace(grad="no")
        key = key_of(func.value)
        made = receiver._replace(grad="yes", origin=scope.origin("`.requires_grad_()`", node))
        if key:
            scope.bind(key, made) if isinstance(func.value, ast.Name) else None
        return made
    if name in ("item", "tolist"):
        return PLAIN._replace(taint=receiver.taint) if receiver.taint else PLAIN
    if name in _PLAIN_METHODS:
        return PLAIN
    if name in _DTYPES or name in _GRADLESS:
        grad = "no" if name in _GRADLESS else receiver.grad
        return receiver._replace(dtype=_DTYPES.get(name, "int"), grad=grad)
    if name in ("new_zeros", "new_ones", "new_full", "new_empty", "new_tensor"):
        return receiver._replace(grad="no", scalar=False)
    if name not in _GIVE_TENSOR:
        return UNKNOWN
    has_dim = bool(args) or "dim" in keywords or "axis" in keywords
    if name in ("pow", "add", "sub", "mul", "div", "clone"):
        scalar = receiver.scalar and all(value.kind == "plain" or value.scalar for value in args)
    else:
        scalar = (name in _REDUCTIONS and not has_dim) or (
            receiver.scalar and name in _KEEPS_SCALAR
        )
    made = receiver._replace(scalar=scalar, param=receiver.param if name in _SHARED else "")
    for value in args:
        if value.kind in ("tensor", "output"):
            if value.device == "accelerator" and made.device != "accelerator":
                made = made._replace(device="accelerator", origin=value.origin)
            if value.grad == "yes" and not scope.no_grad:
                made = made._replace(grad="yes")
    if name in _INTEGERS:
        made = made._replace(grad="no", dtype="int")
    return shaped(made, name, has_dim)


def _moved(scope: Scope, node: ast.Call, receiver: Value) -> Value:
    device = device_argument(scope, node)
    dtype = dtype_argument(node)
    made = receiver._replace(dtype=dtype) if dtype else receiver
    if device is None:
        return made
    origin = made.origin
    if device in ("accelerator", "named"):
        said = ", ".join(ast.unparse(arg) for arg in node.args) or "device=…"
        origin = scope.origin(f"`.to({said})`", node)
    if device == "unknown" and made.device == "cpu":
        device = "unknown"
    return made._replace(device=device, origin=origin)


def _of_container(
    scope: Scope, node: ast.Call, func: ast.Attribute, receiver: Value, args: list[Value]
) -> Value | None:
    name, key = func.attr, key_of(func.value)
    if name in ("append", "add", "appendleft") and args:
        if receiver.kind == "list" and key:
            _append(scope, key, receiver, args[0], node.args[0])
        elif receiver.kind != "list":
            _append_inside(scope, func, args[0])
        return PLAIN
    if name == "append" or (name == "extend" and not args):
        return PLAIN
    if name == "extend":
        if receiver.kind == "list" and key:
            given = Value("list", element=element_of(args[0]))
            element = join(receiver.element, given.element)
            _rebind(scope, key, receiver._replace(element=element, filled=()), given)
        return PLAIN
    if receiver.kind == "dict":
        inside = receiver.element or UNKNOWN
        if name == "items":
            return Value("list", element=Value("tuple", elements=(PLAIN, inside)))
        if name == "values":
            return Value("list", element=inside)
        if name in ("get", "pop", "setdefault"):
            return inside
        if name == "keys":
            return Value("list", element=PLAIN)
    if receiver.kind == "list" and name == "pop":
        return receiver.element or UNKNOWN
    if name == "copy":
        return receiver
    return PLAIN if receiver.kind == "plain" else UNKNOWN


def _append(scope: Scope, key: str, holder: Value, value: Value, node: ast.expr) -> None:
    scope.run.elements[node] = value
    filled = holder.filled if node in holder.filled else (*holder.filled, node)
    made = holder._replace(element=join_elements(holder.element, value), filled=filled)
    _rebind(scope, key, made, Value("list", element=value, filled=(node,)))


def _append_inside(scope: Scope, func: ast.Attribute, value: Value) -> None:
    """`history[name].append(x)`: the dict then holds lists."""
    if isinstance(func.value, ast.Subscript):
        key = key_of(func.value.value)
        holder = scope.look_up(key) if key else None
        if holder is not None and holder.kind == "dict":
            _rebind(scope, key, holder._replace(element=Value("list", element=value)))


def _rebind(scope: Scope, key: str, value: Value, added: Value | None = None) -> None:
    """Bind a key; `added` is what this statement adds to an attribute that others fill as well."""
    if "." in key or "[" in key:
        scope.bind_part(key, value)
    else:
        scope.env[key] = value
    holder, _, attribute = key.rpartition(".")
    known = scope.look_up(holder) if holder else None
    if known is not None and known.class_name in scope.module.classes:
        scope.run.store(known.class_name, attribute, value if added is None else added)


def _of_module(
    scope: Scope,
    node: ast.Call,
    func: ast.Attribute,
    module: Value,
    args: list[Value],
    keywords: Keywords,
) -> Value | None:
    name, key = func.attr, key_of(func.value)
    if name in ("to", "cuda", "cpu"):
        device = {"cuda": "accelerator", "cpu": "cpu"}.get(name) or device_argument(scope, node)
        made = module._replace(device=device) if device is not None else module  # type: ignore[arg-type]
        if key:
            _rebind(scope, key, made)
        return made
    if name in ("eval", "train", "float", "half", "double", "requires_grad_", "share_memory"):
        return module
    text = f"a parameter of `{ast.unparse(func.value)}`"
    if name in ("parameters", "named_parameters"):
        device = "unknown" if module.device == "cpu" else module.device
        one = tensor(device, "yes", origin=scope.origin(text, node))
        pair = Value("tuple", elements=(PLAIN, one))
        return Value("list", element=one if name == "parameters" else pair)
    if name == "state_dict":
        device = "unknown" if module.device == "cpu" else module.device
        element = tensor(device, "no", origin=scope.origin("an entry of a state_dict", node))
        return Value("dict", element=element)
    if module.class_name and not module.class_name.startswith("nn"):
        method = scope.run.method_of(module.class_name, name)
        if method is not None:
            return call_function(scope, method, node, args, keywords)
        return _call_attribute(scope, node, module, name, args, keywords)
    if name in _MODEL_CALLS:
        return call_module(scope, node, module, args, keywords)
    return UNKNOWN


def _of_object(
    scope: Scope,
    node: ast.Call,
    func: ast.Attribute,
    receiver: Value,
    args: list[Value],
    keywords: Keywords,
) -> Value | None:
    method = scope.run.method_of(receiver.class_name, func.attr)
    if method is not None:
        return call_function(scope, method, node, args, keywords)
    return _call_attribute(scope, node, receiver, func.attr, args, keywords)


def _call_attribute(
    scope: Scope, node: ast.Call, holder: Value, name: str, args: list[Value], keywords: Keywords
) -> Value | None:
    key = key_of(node.func)
    stored = scope.look_up(key) if key else None
    if stored is None:
        stored = scope.run.attribute_of(holder.class_name, name)
    if stored is not None and stored.kind == "module":
        return call_module(scope, node, stored, args, keywords)
    return None


def _of_unknown(
    scope: Scope, node: ast.Call, func: ast.Attribute, receiver: Value, args: list[Value]
) -> Value | None:
    name, key = func.attr, key_of(func.value)
    if name == "forward":
        return call_module(scope, node, Value("module"), args, {})
    if name in ("to", "cuda"):
        if looks_like_model(scope, func.value):
            device = "accelerator" if name == "cuda" else device_argument(scope, node)
            made = Value("module", device or "unknown")
            if key:
                _rebind(scope, key, made)
            return made
        return _moved_unknown(scope, node, func, receiver)
    if receiver.kind == "loaded" and name not in _ONLY_TENSORS:
        return UNKNOWN
    if name in _ONLY_TENSORS and not looks_like_model(scope, func.value):
        made = tensor(
            "cpu" if receiver.kind == "batch" else "unknown",
            origin=scope.origin(f"the tensor method `.{name}()`", node),
        )._replace(param=receiver.param if name in ("detach", "cpu") else "")
        if name in _NARROWS and isinstance(func.value, ast.Name) and receiver.kind == "unknown":
            scope.bind(func.value.id, made._replace(param=receiver.param))
        return of_tensor(scope, node, func, made, args, {})
    if name in ("parameters", "named_parameters"):
        one = tensor(grad="yes", origin=scope.origin("a module's parameter", node))
        pair = Value("tuple", elements=(PLAIN, one))
        return Value("list", element=one if name == "parameters" else pair)
    if name == "state_dict":
        one = tensor(grad="no", origin=scope.origin("an entry of a state_dict", node))
        return Value("dict", element=one)
    if name in _MODEL_CALLS and looks_like_model(scope, func.value):
        made = call_module(scope, node, Value("module"), args, {})
        return made._replace(weak=True)
    if receiver.param and name in _SHARED:
        return Value(param=receiver.param)
    return None


def _moved_unknown(scope: Scope, node: ast.Call, func: ast.Attribute, receiver: Value) -> Value:
    weak = func.attr == "to" and receiver.kind == "unknown"
    grad: Grad = "no" if receiver.kind == "batch" else "unknown"
    origin = scope.origin(f"`{ast.unparse(func)}(…)` moves it", node)
    if func.attr == "cuda":
        return tensor("accelerator", grad, origin=origin)
    device = device_argument(scope, node)
    if device is None:
        return tensor(weak=True, dtype=dtype_argument(node))._replace(param=receiver.param)
    return tensor(device, grad, weak=weak, origin=origin)
