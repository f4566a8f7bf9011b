"""Functions: what their parameters are, the walk over their bodies, what a call of one gives."""

from __future__ import annotations

import ast

from ashore.fix.infer.annotations import annotated
from ashore.fix.infer.module import dotted
from ashore.fix.infer.scope import Run, Scope
from ashore.fix.meetings import Function
from ashore.fix.values import UNKNOWN, Origin, Value, join, tensor

_LOSSES = ("forward", "training_step", "compute_loss", "loss", "loss_fn", "criterion")
_COMPILED = ("jit.script", "jit.trace", "jit.script_if_tracing", "compile", "vmap", "func.vmap")
_NO_GRAD = ("no_grad", "inference_mode")


def walk_function(run: Run, function: Function, class_name: str, surroundings: Scope) -> None:
    """Walk over a function's body; note what it returns."""
    from ashore.fix.infer.statements import walk

    env = dict(surroundings.env) if surroundings.function is not None else {}
    scope = Scope(run, function, class_name, env)
    scope.no_grad = surroundings.no_grad and surroundings.function is not None
    _apply_decorators(scope, function)
    _guard(scope, function, class_name)
    _bind_parameters(scope, function, class_name)
    walk(scope, function.body)
    returned = scope.returned
    if returned is not None:
        cpu = [value for value in scope.tested_returns if value.device == "cpu"]
        if cpu and returned.kind == "tensor":  # `return x.cpu() if it is on a GPU, else x`
            returned = returned._replace(device="cpu")
        run.returns[function] = returned


def _apply_decorators(scope: Scope, function: Function) -> None:
    for decorator in function.decorator_list:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = scope.module.resolve(dotted(node))
        if name.endswith(_NO_GRAD):
            scope.no_grad = True
        elif name.startswith("torch.") and name[6:] in _COMPILED:
            scope.untouchable = f"inside a function of `{name}`"


def _guard(scope: Scope, function: Function, class_name: str) -> None:
    name = function.name
    if class_name:
        found = scope.run.class_of(class_name)
        bases = found[1].bases if found is not None else ()
        if any(base.endswith("autograd.Function") for base in bases):
            scope.no_grad = True  # forward and backward of a Function record nothing
            return
    if name in _LOSSES or name.endswith("_loss") or name.startswith("loss_"):
        scope.gradient = f"inside {name}(), where a gradient may be needed"


def _bind_parameters(scope: Scope, function: Function, class_name: str) -> None:
    given = scope.run.arguments.get(function, {})
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    first = 1 if class_name and positional and not is_static(function) else 0
    if first:
        scope.env[positional[0].arg] = _self_value(scope.run, class_name)
    defaults = dict(
        zip([arg.arg for arg in reversed(positional)], reversed(spec.defaults), strict=False)
    )
    for place, arg in enumerate([*positional[first:], *spec.kwonlyargs]):
        name = arg.arg
        by_caller = given.get(name) or given.get(place)
        if name in given and place in given:
            by_caller = join(given[name], given[place])
        said = annotated(scope.module, arg.annotation) if arg.annotation is not None else None
        default = defaults.get(name)
        scope.env[name] = _parameter(scope, function, name, said, by_caller, default)
    if spec.vararg is not None:
        scope.env[spec.vararg.arg] = Value("list")
    if spec.kwarg is not None:
        scope.env[spec.kwarg.arg] = Value("dict")


def _parameter(
    scope: Scope,
    function: Function,
    name: str,
    said: Value | None,
    by_caller: Value | None,
    default: ast.expr | None,
) -> Value:
    if said is not None and said.kind == "tensor":
        if by_caller is not None and by_caller.kind == "tensor":
            return said._replace(
                device=by_caller.device, grad=by_caller.grad, origin=by_caller.origin or said.origin
            )
        return said._replace(param=name)
    if said is not None:
        return said
    if by_caller is not None and by_caller.kind != "unknown":
        if by_caller.kind == "tensor" and by_caller.origin is not None:
            text = by_caller.origin.text.removesuffix(", passed by a caller")
            origin = by_caller.origin._replace(text=f"{text}, passed by a caller")
            by_caller = by_caller._replace(origin=origin)
        if by_caller.kind in ("tensor", "array", "either"):
            return by_caller._replace(param=name, filled=(), alias=None)
        return by_caller._replace(filled=())
    if _is_plain_default(default) and "device" not in name:
        return Value("plain", param=name)
    if scope.gradient and name not in ("self", "cls") and function.name == "forward":
        origin = Origin("a parameter of forward()", function.lineno)
        return tensor(weak=True, origin=origin)._replace(param=name)
    return Value(param=name)


def _is_plain_default(default: ast.expr | None) -> bool:
    return isinstance(default, ast.Constant) and isinstance(default.value, str | int | float)


def is_static(function: Function) -> bool:
    """Tell whether a method takes no self."""
    return any(dotted(decorator) == "staticmethod" for decorator in function.decorator_list)


def _self_value(run: Run, class_name: str) -> Value:
    return Value("module" if is_module_class(run, class_name) else "object", class_name=class_name)


def is_module_class(run: Run, class_name: str, depth: int = 0) -> bool:
    """Tell whether a class is an nn.Module, as far as its bases are in sight."""
    found = run.class_of(class_name)
    if found is None or depth > 4:
        return False
    there, info = found
    for base in info.bases:
        if base.endswith(("nn.Module", "LightningModule", "PreTrainedModel", "nn.Sequential")):
            return True
        if base != class_name and is_module_class(there, base, depth + 1):
            return True
    return False


def call_function(
    scope: Scope,
    found: tuple[Run, Function],
    node: ast.Call,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value:
    """Note what a function of the project is given; return what it gave in the last walk."""
    run, function = found
    if run is scope.run:
        calls = run.calls.setdefault(function, {})
        if not any(isinstance(arg, ast.Starred) for arg in node.args):
            for place, value in enumerate(args):
                calls[place] = _join_given(calls.get(place), value)
        for name, value in keywords.items():
            if name:
                calls[name] = _join_given(calls.get(name), value)
    run.demand(function)
    returned = run.returns.get(function)
    if returned is None:
        return UNKNOWN
    if returned.param and returned.kind == "unknown":
        return _passed_through(function, returned.param, args, keywords)
    if returned.kind == "tensor":
        if scope.no_grad:
            returned = returned._replace(grad="no")
        if returned.origin is not None and "returned by" not in returned.origin.text:
            path = "" if run is scope.run else run.module.source.path
            text = f"{returned.origin.text}, returned by `{function.name}()`"
            returned = returned._replace(origin=Origin(text, returned.origin.line, path))
    return returned._replace(filled=(), param="", alias=None)


def _join_given(a: Value | None, b: Value) -> Value:
    """Join what two callers give: a number and a tensor are not always a tensor."""
    joined = join(a, b)
    if a is not None and joined.kind == "tensor" and "plain" in (a.kind, b.kind):
        return joined._replace(weak=True)
    return joined


def parameter_names(function: Function, *, method: bool) -> list[str]:
    """Return the names of the positional parameters that a call fills."""
    names = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]]
    return names[1:] if method and not is_static(function) else names


def _passed_through(
    function: Function, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    if name in keywords:
        return keywords[name]._replace(scalar=False)
    names = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]]
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    if name in names and names.index(name) < len(args):
        return args[names.index(name)]._replace(scalar=False)
    return UNKNOWN
