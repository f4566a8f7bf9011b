"""What counts as a model, and what calling one gives."""

from __future__ import annotations

import ast
from functools import cache

from ashore.fix.facts import table
from ashore.fix.infer.functions import call_function
from ashore.fix.infer.module import dotted
from ashore.fix.infer.of_torch import model_result
from ashore.fix.infer.scope import Scope
from ashore.fix.meetings import ModuleInput
from ashore.fix.values import Device, Grad, Value, worst_device

_MODEL_NAME = table("torch").pattern("model_names")
_NO_MODEL = table("torch").pattern("no_model_names")
_LOSS_NAME = table("torch").pattern("loss_names")


def looks_like_model(scope: Scope, node: ast.expr) -> bool:
    """Tell whether an expression is used as a model in this file, or called like one."""
    name = dotted(node)
    if not name or _named_otherwise(name):
        return False
    last = name.rpartition(".")[2]
    used = scope.module.used_as_models
    if name in used or f"self.{last}" in used or (last in used and name.count(".") <= 1):
        return True
    return _named_model(last)


@cache
def _named_model(name: str) -> bool:
    return _MODEL_NAME.search(name) is not None


@cache
def _named_otherwise(name: str) -> bool:
    return _NO_MODEL.search(name) is not None


@cache
def looks_like_loss(name: str) -> bool:
    """Tell whether a function is called like a loss."""
    return _LOSS_NAME.search(name.rpartition(".")[2]) is not None


def call_module(
    scope: Scope, node: ast.Call, module: Value, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Return what `module(…)` gives."""
    for value, given in zip(args, node.args, strict=False):
        if value.kind == "array":
            scope.run.meet(ModuleInput(node, scope.context(), given))
    device = _device(scope, module, [*args, *keywords.values()])
    grad = _grad(scope, module)
    if module.class_name and not module.class_name.startswith("nn"):
        made = _through_forward(scope, node, module, args, keywords)
        if made is not None and made.kind in ("tensor", "tuple", "dict", "list"):
            return _as_result(scope, node, made, device, grad)
    return model_result(scope, node, device, grad, module.class_name)


def _device(scope: Scope, module: Value, given: list[Value]) -> Device:
    device = module.device
    if device != "accelerator":
        for value in given:
            if value.kind in ("tensor", "output") and value.device in ("named", "accelerator"):
                device = worst_device(device, value.device)
    if device == "cpu" and scope.module.mentions_device:
        return "unknown"  # moved by somebody who is not in sight
    return device


def _grad(scope: Scope, module: Value) -> Grad:
    if scope.no_grad:
        return "no"
    if not module.class_name:
        return "unknown"
    if not scope.module.mentions_no_grad:
        return "yes"
    return "yes" if scope.module.mentions_backward and scope.function is None else "unknown"


def _through_forward(
    scope: Scope, node: ast.Call, module: Value, args: list[Value], keywords: dict[str, Value]
) -> Value | None:
    found = scope.run.method_of(module.class_name, "forward")
    if found is None:
        return None
    return call_function(scope, found, node, args, keywords)


def _as_result(scope: Scope, node: ast.Call, made: Value, device: Device, grad: Grad) -> Value:
    if made.kind == "tensor":
        if device == "unknown" and made.device != "cpu":
            device = made.device
        return made._replace(
            device=device,
            grad="no" if "no" in (made.grad, grad) else grad,
            dtype="bfloat16" if scope.bfloat16 else made.dtype,
            weak=False,
            origin=scope.origin(f"the result of `{ast.unparse(node.func)}(…)`", node),
        )
    if made.kind == "tuple":
        parts = tuple(
            _as_result(scope, node, one, device, grad) if one.kind == "tensor" else one
            for one in made.elements
        )
        return made._replace(elements=parts)
    if made.element is not None and made.element.kind == "tensor":
        return made._replace(element=_as_result(scope, node, made.element, device, grad))
    return made
