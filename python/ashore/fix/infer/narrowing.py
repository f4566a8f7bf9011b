"""What a test says of the values in it: isinstance, is_cuda, requires_grad, .device."""

from __future__ import annotations

import ast
import re
from functools import cache

from ashore.fix.infer.module import dotted
from ashore.fix.infer.scope import Scope, key_of
from ashore.fix.values import ARRAY, PLAIN, Value, tensor

_DEVICE_TEST = re.compile(r"cuda|gpu|device|mps", re.IGNORECASE)
_OTHERS = re.compile(
    r"\(?((str|list|tuple|dict|int|float|bool|bytes|Path|(PIL\.)?Image(\.Image)?)(, )?)+\)?"
)


def tests_device(test: ast.expr) -> bool:
    """Tell whether a test asks on which device something is, or whether there is one."""
    waiting: list[ast.AST] = [test]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Attribute):
            if _names_device(node.attr):
                return True
            waiting.append(node.value)
        elif isinstance(node, ast.Name):
            if _names_device(node.id):
                return True
        elif not isinstance(node, ast.Constant):
            waiting.extend(ast.iter_child_nodes(node))
    return False


@cache
def _names_device(name: str) -> bool:
    return _DEVICE_TEST.search(name) is not None


def narrow(scope: Scope, test: ast.expr, positive: bool) -> None:
    """Bind in the scope what holds where the test is true, or false."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        narrow(scope, test.operand, not positive)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) == positive:
            for part in test.values:
                narrow(scope, part, positive)
    elif isinstance(test, ast.Call):
        _narrow_call(scope, test, positive)
    elif isinstance(test, ast.Attribute) and test.attr in ("is_cuda", "requires_grad"):
        key = key_of(test.value)
        if key:
            known = _as_tensor(scope, key)
            if test.attr == "is_cuda":
                known = known._replace(
                    device="accelerator" if positive else "cpu",
                    origin=scope.origin("the test of `.is_cuda`", test),
                )
            else:
                known = known._replace(grad="yes" if positive else "no")
            scope.bind(key, known)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        _narrow_compare(scope, test, positive)


def _as_tensor(scope: Scope, key: str) -> Value:
    known = scope.look_up(key)
    return known if known is not None and known.kind == "tensor" else tensor()


def _narrow_call(scope: Scope, test: ast.Call, positive: bool) -> None:
    if not test.args:
        return
    name = scope.module.resolve(dotted(test.func))
    key = key_of(test.args[0])
    if not key:
        return
    if name == "torch.is_tensor":
        scope.bind(key, _tested(scope, key, test) if positive else PLAIN)
    elif name == "hasattr" and len(test.args) == 2:
        asked = test.args[1]
        if isinstance(asked, ast.Constant) and asked.value in ("detach", "cpu"):
            scope.bind(key, _tested(scope, key, test) if positive else PLAIN)
    elif name == "isinstance" and len(test.args) == 2:
        _narrow_isinstance(scope, test, key, positive)


def _tested(scope: Scope, key: str, test: ast.Call) -> Value:
    known = scope.look_up(key)
    if known is not None and known.kind == "tensor":
        return known._replace(weak=False)
    return tensor(origin=scope.origin("a test of its type", test))


def _narrow_isinstance(scope: Scope, test: ast.Call, key: str, positive: bool) -> None:
    types = ast.unparse(test.args[1])
    is_tensor, is_array = "ensor" in types, "ndarray" in types
    known = scope.look_up(key)
    if is_tensor and is_array:
        return
    if is_tensor:
        if positive:
            scope.bind(key, _tested(scope, key, test))
        elif known is None or known.kind != "tensor" or known.weak:
            scope.bind(key, PLAIN if known is None or known.kind != "either" else ARRAY)
    elif positive and is_array:
        scope.bind(key, ARRAY)
    elif positive and _OTHERS.fullmatch(types):
        containers = ("list", "tuple", "dict", "output")
        if known is None or known.kind not in containers:
            scope.bind(key, PLAIN)


def _narrow_compare(scope: Scope, test: ast.Compare, positive: bool) -> None:
    if not isinstance(test.ops[0], ast.Eq | ast.NotEq) or not isinstance(test.left, ast.Attribute):
        return
    if test.left.attr not in ("device", "type"):
        return
    match = re.fullmatch(
        r"([\w.]+)\.device(\.type)? [!=]= (torch\.device\()?'cpu'\)?", ast.unparse(test)
    )
    if match:
        on_cpu = isinstance(test.ops[0], ast.Eq) == positive
        known = _as_tensor(scope, match[1])
        scope.bind(match[1], known._replace(device="cpu" if on_cpu else "accelerator"))
