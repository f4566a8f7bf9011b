"""The walk over statements: what is bound, and which paths a program may take."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from ashore.fix.infer.annotations import annotated
from ashore.fix.infer.expressions import combine
from ashore.fix.infer.functions import walk_function
from ashore.fix.infer.models import looks_like_model
from ashore.fix.infer.module import dotted
from ashore.fix.infer.narrowing import narrow, tests_device
from ashore.fix.infer.scope import Env, Scope, join_envs, key_of
from ashore.fix.meetings import ArrayStore, Dropped
from ashore.fix.values import UNKNOWN, Value, element_of, join

_EXITS = ("sys.exit", "exit", "quit", "os._exit")
_RETURN_NEW = ("cpu", "detach", "float", "half", "to")


def walk(scope: Scope, body: Sequence[ast.stmt]) -> bool:
    """Walk over statements; tell whether the program can go on behind them."""
    for statement in body:
        step = _STEPS.get(type(statement))
        if step is None:
            for child in ast.iter_child_nodes(statement):
                if isinstance(child, ast.expr):
                    scope.value_of(child)
        elif step(scope, statement) is False:
            return False
    return True


def _branch(scope: Scope, body: Sequence[ast.stmt], env: Env) -> Env | None:
    """Walk over one branch from this knowledge; return what is known behind it."""
    scope.env = dict(env)
    return scope.env if walk(scope, body) else None


def _function(scope: Scope, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    if scope.function is None:
        scope.run.waiting.append((node, scope.class_name))  # the module's own lines come first
    else:
        walk_function(scope.run, node, "", scope)


def _class(scope: Scope, node: ast.ClassDef) -> None:
    inner = Scope(scope.run, scope.function, node.name, dict(scope.env))
    if scope.function is None:
        init = [m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == "__init__"]
        walk(inner, [*init, *(member for member in node.body if member not in init)])
        return
    for member in node.body:
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            walk_function(scope.run, member, node.name, scope)


def _assign(scope: Scope, node: ast.Assign) -> None:
    value = scope.value_of(node.value)
    for target in node.targets:
        assign(scope, target, value, node.value)
        if isinstance(node.value, ast.Dict) and isinstance(target, ast.Name):
            for key, one in zip(node.value.keys, node.value.values, strict=True):
                if isinstance(key, ast.Constant):
                    scope.bind_part(f"{target.id}[{key.value!r}]", scope.value_of(one))


def _annotated(scope: Scope, node: ast.AnnAssign) -> None:
    value = scope.value_of(node.value) if node.value is not None else UNKNOWN
    if value.kind == "unknown":
        value = annotated(scope.module, node.annotation) or value
    assign(scope, node.target, value, node.value)


def _augmented(scope: Scope, node: ast.AugAssign) -> None:
    given = scope.value_of(node.value)
    value = combine(scope.value_of(node.target), given)
    if isinstance(node.target, ast.Subscript):
        assign(scope, node.target, given, node.value)
        return
    before = scope.look_up(key_of(node.target))
    if before is not None and before.alias is not None:
        scope.run.written[before.alias] = node.lineno
    assign(scope, node.target, value, None)


def assign(scope: Scope, target: ast.expr, value: Value, node: ast.expr | None) -> None:
    """Bind a target; `node` is the expression that the value is of, if it is one."""
    if isinstance(target, ast.Name):
        scope.bind(target.id, value)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(scope, target, value, node)
    elif isinstance(target, ast.Starred):
        assign(scope, target.value, Value("list", element=element_of(value)), None)
    elif isinstance(target, ast.Attribute):
        _assign_attribute(scope, target, value)
    elif isinstance(target, ast.Subscript):
        _assign_item(scope, target, value, node)


def _unpack(
    scope: Scope, target: ast.Tuple | ast.List, value: Value, node: ast.expr | None
) -> None:
    nodes: Sequence[ast.expr | None] = [None] * len(target.elts)
    if isinstance(node, ast.Tuple) and len(node.elts) == len(target.elts):
        nodes = node.elts
    for place, one in enumerate(target.elts):
        if value.kind == "tuple" and len(value.elements) == len(target.elts):
            part = value.elements[place]
        elif value.kind == "output":
            part = value._replace(kind="tensor")
        else:
            part = element_of(value)
        if isinstance(one, ast.Starred):
            part = element_of(value)
        assign(scope, one, part, nodes[place])


def _assign_attribute(scope: Scope, target: ast.Attribute, value: Value) -> None:
    key = dotted(target)
    if not key:
        scope.value_of(target.value)
        return
    base = scope.look_up(key.rpartition(".")[0])
    holder = "unknown" if base is None else base.kind
    held = value.kind == "module" or (holder == "module" and value.grad == "yes")
    if held and holder in ("module", "object") and value.device == "cpu":
        value = value._replace(device="unknown")  # moved with what holds it
    scope.bind_part(key, value)
    if key.count(".") == 1 and base is not None and base.class_name in scope.module.classes:
        scope.run.store(base.class_name, target.attr, value)


def _assign_item(scope: Scope, target: ast.Subscript, value: Value, node: ast.expr | None) -> None:
    base = scope.value_of(target.value)
    scope.value_of(target.slice)
    if base.kind == "array":
        if base.alias is not None:
            scope.run.written[base.alias] = target.lineno
        if node is not None and value.kind in ("tensor", "output"):
            element = isinstance(target.slice, ast.Tuple) and not any(
                isinstance(part, ast.Slice) for part in target.slice.elts
            )
            scope.run.meet(ArrayStore(target, scope.context(), node, value, element))
        return
    key = key_of(target.value)
    if key and (base.kind in ("dict", "list") or base.kind == "plain"):
        holder = base if base.kind != "plain" else Value("dict")
        holder = holder._replace(element=join(holder.element, value))
        scope.bind_part(key, holder) if "." in key or "[" in key else scope.env.update(
            {key: holder}
        )
    own = key_of(target)
    if own:
        scope.bind_part(own, value)


def _expression(scope: Scope, node: ast.Expr) -> bool:
    call = node.value
    scope.value_of(call)
    if not isinstance(call, ast.Call):
        return True
    if scope.module.resolve(dotted(call.func)) in _EXITS:
        return False
    if isinstance(call.func, ast.Attribute) and call.func.attr in _RETURN_NEW:
        receiver = call.func.value
        if isinstance(receiver, ast.Name | ast.Attribute | ast.Subscript):
            value = scope.value_of(receiver)
            if value.kind == "tensor" or (
                value.kind == "unknown" and not looks_like_model(scope, receiver)
            ):
                meeting = Dropped(node, scope.context(), receiver, call.func.attr, value)
                scope.run.meet(meeting)
    return True


def _return(scope: Scope, node: ast.Return) -> bool:
    if node.value is not None:
        scope.returned = join(scope.returned, scope.value_of(node.value))
    return False


def _leave(scope: Scope, node: ast.stmt) -> bool:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            scope.value_of(child)
    return False


def _jump(scope: Scope, node: ast.Continue | ast.Break) -> bool:
    scope.jumps.append(scope.env)
    return False


def _if(scope: Scope, node: ast.If) -> bool:
    scope.value_of(node.test)
    before = scope.env
    ends: list[Env | None] = []
    on_device = tests_device(node.test)
    for body, positive in ((node.body, True), (node.orelse, False)):
        scope.env = dict(before)
        narrow(scope, node.test, positive)
        ends.append(_branch(scope, body, scope.env))
        if on_device and body and isinstance(body[-1], ast.Return) and body[-1].value is not None:
            scope.tested_returns.append(scope.value_of(body[-1].value))
    joined = join_envs(*ends)
    if joined is None:
        return False
    if on_device and ends[0] is not None and ends[1] is not None:
        _trust_device_test(joined, before, ends[0], ends[1])
    scope.env = joined
    return True


def _trust_device_test(joined: Env, before: Env, a: Env, b: Env) -> None:
    """`if cuda: x = x.cpu()` leaves x on the CPU on either path."""
    for key, value in joined.items():
        one, other = a.get(key), b.get(key)
        if one is None or other is None or one is other or value.kind != "tensor":
            continue
        untouched = before.get(key)
        if "cpu" in (one.device, other.device) and (one is untouched or other is untouched):
            joined[key] = value._replace(device="cpu", weak=False)


def _for(scope: Scope, node: ast.For | ast.AsyncFor) -> bool:
    element = element_of(scope.value_of(node.iter))

    def begin() -> None:
        assign(scope, node.target, element, None)

    _loop(scope, begin, node.body)
    return walk(scope, node.orelse)


def _while(scope: Scope, node: ast.While) -> bool:
    _loop(scope, lambda: scope.value_of(node.test), node.body)
    return walk(scope, node.orelse)


def _loop(scope: Scope, begin: Callable[[], object], body: Sequence[ast.stmt]) -> None:
    """Walk over a body twice: what the first turn leaves behind is there in the second."""
    env = scope.env
    jumps = scope.jumps
    for _ in range(2):
        scope.env = dict(env)
        scope.jumps = []
        begin()
        end = _branch(scope, body, scope.env)
        for jumped in scope.jumps:
            end = join_envs(end, jumped)
        joined = join_envs(env, end)
        assert joined is not None
        if joined == env:
            break
        env = joined
    scope.env = env
    scope.jumps = jumps


def _with(scope: Scope, node: ast.With | ast.AsyncWith) -> bool:
    before = scope.no_grad, scope.bfloat16
    for item in node.items:
        value = scope.value_of(item.context_expr)
        said = ast.unparse(item.context_expr)
        if "no_grad" in said or "inference_mode" in said or "set_grad_enabled(False" in said:
            scope.no_grad = True
        elif "enable_grad" in said:
            scope.no_grad = False
        if "autocast" in said and "bfloat16" in said:
            scope.bfloat16 = True
        if item.optional_vars is not None:
            assign(scope, item.optional_vars, value, None)
    goes_on = walk(scope, node.body)
    scope.no_grad, scope.bfloat16 = before
    return goes_on


def _try(scope: Scope, node: ast.Try | ast.TryStar) -> bool:
    before = scope.env
    body = _branch(scope, node.body, before)
    middle = join_envs(dict(before), body)
    assert middle is not None
    end = _branch(scope, node.orelse, body) if node.orelse and body is not None else body
    for handler in node.handlers:
        end = join_envs(end, _branch(scope, handler.body, middle))
    scope.env = dict(middle if end is None else end)
    goes_on = walk(scope, node.finalbody)
    return goes_on and end is not None


def _match(scope: Scope, node: ast.Match) -> bool:
    scope.value_of(node.subject)
    before = scope.env
    end: Env | None = dict(before)
    for case in node.cases:
        end = join_envs(end, _branch(scope, case.body, before))
    scope.env = end if end is not None else before
    return True


def _assert(scope: Scope, node: ast.Assert) -> None:
    scope.value_of(node.test)
    narrow(scope, node.test, True)


_STEPS: dict[type[ast.stmt], Callable[[Scope, Any], bool | None]] = {
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.Raise: _leave,
    ast.Continue: _jump,
    ast.Break: _jump,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Match: _match,
    ast.Assert: _assert,
}
