"""Families where tensors of several devices or dtypes meet: one has to follow the other."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from ashore.explain.guilty import calls_of, last_name, name_of
from ashore.explain.origins import FRESH
from ashore.explain.repair import (
    JOINS,
    LOSSES,
    Case,
    Edit,
    Found,
    arguments,
    atom,
    device_of_model,
    found,
    is_module_call,
    is_plain,
    wrapped,
)

_SAME_DEVICE = frozenset(
    """view reshape permute transpose unsqueeze squeeze mean sum long half double float type expand
    repeat flatten clone detach contiguous mul mul_ add add_ sub sub_ div div_ exp log sqrt t abs
    clamp clamp_ zero_ fill_ copy_ softmax""".split()
)
Suffix = Callable[[str], str]

_SECOND = frozenset("mat2 other tensor2 vec2 target index weight batch2 src tensors value".split())
# What PyTorch calls dtypes in its messages, and the method that converts to them.
_SHORT = {
    name: method
    for method, names in {
        "float": "Float float FloatTensor Byte ByteTensor",
        "double": "Double double DoubleTensor",
        "half": "Half half HalfTensor c10::Half",
        "bfloat16": "BFloat16 BFloat16Tensor c10::BFloat16",
        "long": "Long long LongTensor",
        "int": "Int int IntTensor",
    }.items()
    for name in names.split()
}


def device(case: Case) -> Found | None:
    """Tensors of one operation are on several devices."""
    groups = case.groups
    wrong, other = (groups.get(name, "").lower() for name in ("wrong", "other"))
    argument = groups.get("argument") or ""
    model_wrong = False
    if argument in {"weight", "bias", "running_mean"}:
        model_wrong = wrong == "cpu" and other != "cpu"
    elif wrong and other == "cpu":
        model_wrong = wrong != "cpu"
    return _meeting(case, argument, lambda of: f".to({of})", ".device", model_wrong)


def types(case: Case) -> Found | None:
    """The kinds of input and weights differ, in device or in dtype."""
    wrong, other = case.groups["wrong"], case.groups["other"]
    if ("cuda" in wrong) != ("cuda" in other):
        return _meeting(case, "input", lambda of: f".to({of})", ".device", "cuda" in wrong)
    return dtype(case)


def dtype(case: Case) -> Found | None:
    """The dtypes of two tensors differ; the one that is no float32 becomes so."""
    kinds = [_kind(case.groups.get(name) or "") for name in ("wrong", "other")]
    wanted = kinds[1]
    if set(kinds) == {"float", "double"}:
        wanted = "float"
    suffix = f".{wanted}()" if wanted else ".float()"
    if case.wording.needle == "Found dtype" and _backward(case):
        return _backward_found(case, suffix)
    argument = case.groups.get("argument") or ""
    if case.wording.needle == "same dtype" and all(kinds):  # of the left and the right side
        if any(isinstance(n, ast.Call) and is_module_call(n) for n in _operations(case)[:1]):
            suffix = f".{kinds[1]}()"
        else:
            argument, suffix = (
                ("", ".float()") if kinds[0] == "float" else ("mat1", f".{kinds[1]}()")
            )
    return _meeting(case, argument, lambda _: suffix, "", False)


def _kind(text: str) -> str:
    return _SHORT.get(text.removeprefix("torch.").removeprefix("cuda."), "")


def _backward(case: Case) -> bool:
    return any(last_name(call) == "backward" for call in case.calls)


def _backward_found(case: Case, suffix: str) -> Found:
    loss = next(call for call in case.calls if last_name(call) == "backward")
    name = ast.unparse(loss.func).rpartition(".")[0]
    made = _made(case, name)
    if made is None:
        return Found(name, f"{name} = criterion(output, target{suffix})")
    call = made.value
    assert isinstance(call, ast.Call)
    node = arguments(call)[-1]
    text = case.statement.text(node)
    return Found(text, case.statement.edited([(node, f"{text}{suffix}")]))


def _made(case: Case, name: str) -> ast.Assign | None:
    """Return the last assignment of a loss above the line, if the file could be read."""
    last = None
    for node in ast.walk(case.statement.module) if case.statement.module else ():
        if isinstance(node, ast.Assign) and node.lineno <= case.statement.row + 1:
            same = any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
            if same and isinstance(node.value, ast.Call) and len(arguments(node.value)) > 1:
                last = node if last is None or node.lineno > last.lineno else last
    return last


def _meeting(
    case: Case, argument: str, suffix_of: Suffix, of: str, model_wrong: bool
) -> Found | None:
    """Find the tensor that has to follow its partner, in a call or between operands."""
    text = case.statement.text

    def follow(odd: ast.expr, partner: str) -> Found:
        edit: Edit = (odd, f"{atom(case, odd)}{suffix_of(partner)}")
        return found(case, odd, [edit])

    for node in _operations(case):
        if isinstance(node, ast.Call):
            # A model's call has frames of PyTorch below it.
            module = is_module_call(node) and (node is not case.operation or bool(case.deeper))
            nodes = arguments(node)
            if not nodes:
                continue
            if module and model_wrong:
                model, given = ast.unparse(node.func), text(nodes[0])
                return found(case, node.func, [(node.func, f"{model}.to({given}.device)")])
            if module and argument == "hidden" and len(nodes) > 1:
                return _hidden(case, nodes[1], suffix_of(f"{atom(case, nodes[0])}.device"))
            if module:
                return follow(nodes[0], device_of_model(case, node))
            if JOINS.search(name_of(node)):
                return _joined(case, nodes[0], suffix_of)
            odd, partner = _pair(case, node, nodes, argument, model_wrong)
            return follow(odd, f"{atom(case, _beside(partner) if of else partner)}{of}")
        if isinstance(node, ast.AugAssign):
            return follow(node.value, f"{text(node.target)}{of}")
        if isinstance(node, ast.Assign):
            base = node.targets[0]
            assert isinstance(base, ast.Subscript)
            return follow(node.value, f"{text(base.value)}{of}")
        assert isinstance(node, ast.BinOp | ast.Compare)
        left = node.left
        right = node.right if isinstance(node, ast.BinOp) else node.comparators[0]
        if _is_left(case, argument, left, right, model_wrong):
            left, right = right, left
        return follow(right, f"{atom(case, _beside(left) if of else left)}{of}")
    return None


def _hidden(case: Case, node: ast.expr, suffix: str) -> Found:
    """Move what an LSTM begins with, one state or two."""
    states = node.elts if isinstance(node, ast.Tuple) else [node]
    return found(case, node, [(one, f"{atom(case, one)}{suffix}") for one in states])


def _beside(node: ast.expr) -> ast.expr:
    """Return a shorter expression that is on the same device: a part's whole, a model's input."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        return _beside(node.value)
    if not isinstance(node, ast.Call):
        return node
    if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_DEVICE:
        if ast.unparse(node.func.value) not in {"torch", "F"}:
            return _beside(node.func.value)
    elif is_module_call(node) and node.args:
        given = _beside(node.args[0])
        return given if isinstance(given, ast.Name | ast.Attribute | ast.Subscript) else node
    return node


def _is_left(case: Case, argument: str, left: ast.expr, right: ast.expr, swapped: bool) -> bool:
    fresh = [
        FRESH.match(case.statement.text(side)) is not None or case.origins.is_fresh(side)
        for side in (left, right)
    ]
    if fresh == [True, False]:
        return True
    if argument in {"mat1", "self"}:
        return not swapped
    return swapped and argument in _SECOND


def _operations(case: Case) -> list[ast.AST]:
    """Return what may have failed, the most likely first."""
    if isinstance(case.operation, ast.Call | ast.BinOp | ast.AugAssign):
        return [case.operation]
    if isinstance(case.operation, ast.Compare):
        return [case.operation]
    nodes = list(case.statement.nodes())
    calls = calls_of(case.statement)
    torches = [
        c
        for c in calls
        if re.match(r"(torch|F|nn\.functional)\.", name_of(c)) and len(arguments(c)) > 1
    ]
    torches += [c for c in calls if JOINS.search(name_of(c))]
    losses = [c for c in calls if LOSSES.search(name_of(c)) and len(arguments(c)) > 1]
    modules = [c for c in calls if is_module_call(c)]
    binary: list[ast.AST] = [
        n for n in nodes if isinstance(n, ast.BinOp) and not (is_plain(n.right) or is_plain(n.left))
    ]
    augmented: list[ast.AST] = [n for n in nodes if isinstance(n, ast.AugAssign)]
    methods = [
        c for c in calls if isinstance(c.func, ast.Attribute) and arguments(c) and c not in modules
    ]
    compared: list[ast.AST] = [n for n in nodes if isinstance(n, ast.Compare)]
    stored: list[ast.AST] = [
        n for n in nodes if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Subscript)
    ]
    if case.deeper:
        return [*losses, *modules, *torches, *methods, *binary, *augmented]
    return [*torches, *binary, *augmented, *methods, *losses, *compared, *modules, *stored]


def _pair(
    case: Case, call: ast.Call, nodes: list[ast.expr], argument: str, swapped: bool
) -> tuple[ast.expr, ast.expr]:
    """Return which argument has to move, and to which."""
    for keyword in call.keywords:
        if keyword.arg == argument:
            return keyword.value, next((n for n in nodes if n is not keyword.value), nodes[0])
    function = re.match(r"(torch|F|nn\.functional)\.", name_of(call)) or LOSSES.search(
        name_of(call)
    )
    if function and len(nodes) > 1:
        first = argument in {"mat1", "self", "input"} and not LOSSES.search(name_of(call))
        if "embedding" in name_of(call) and argument in {"index", "indices"}:
            first = True
        if first != swapped:
            return nodes[0], nodes[1]
        return (nodes[1] if len(nodes) == 2 else _last_tensor(case, nodes)), nodes[0]
    if isinstance(call.func, ast.Attribute) and not function:
        return nodes[-1], call.func.value
    return nodes[-1], nodes[0]


def _last_tensor(case: Case, nodes: list[ast.expr]) -> ast.expr:
    return next((n for n in reversed(nodes[1:]) if case.origins.kind(n) != "number"), nodes[-1])


def _joined(case: Case, node: ast.expr, suffix_of: Suffix) -> Found:
    if isinstance(node, ast.List | ast.Tuple) and len(node.elts) > 1:
        first, *rest = node.elts
        to = suffix_of(f"{atom(case, first)}.device")
        if FRESH.match(case.statement.text(first)):
            first, rest = rest[-1], [first]
            to = suffix_of(f"{atom(case, first)}.device")
        edits: list[Edit] = [(e, f"{atom(case, e)}{to}") for e in rest]
        return found(case, rest[-1], edits)
    name = case.statement.text(node)
    to = suffix_of("device" if case.origins.has_device else f"{name}[0].device")
    return found(case, node, [(node, f"[t{to} for t in {name}]")])


def cast(case: Case) -> Found | None:
    """The result of an operation in place does not fit its tensor; mostly the targets of a loss."""
    for call in case.calls:
        if LOSSES.search(name_of(call)) and len(arguments(call)) > 1:
            return wrapped(case, arguments(call)[1])
    for node in case.statement.nodes():
        if isinstance(node, ast.AugAssign):
            name, value = case.statement.text(node.target), case.statement.text(node.value)
            made = ast.unparse(ast.BinOp(ast.Name("a"), node.op, ast.Name("b")))[1:-1]
            return Found(name, f"{name} = {name}{made}{value}")
    return None


def stored(case: Case) -> Found | None:
    """A NumPy array is put into a tensor."""
    for node in case.statement.nodes():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            value, tensor = case.statement.text(node.value), atom(case, node.targets[0].value)
            made = f"torch.as_tensor({value}, dtype={tensor}.dtype, device={tensor}.device)"
            return found(case, node.value, [(node.value, made)])
    return None


def target(case: Case) -> Found | None:
    """Class numbers or indices are no integers of 64 bits."""
    calls = [c for c in case.calls if LOSSES.search(name_of(c)) and len(arguments(c)) > 1]
    if calls:
        named = [k.value for k in calls[0].keywords if k.arg == "target"]
        return wrapped(case, (named or [arguments(calls[0])[1]])[0])
    if _backward(case):
        return _backward_found(case, ".long()")
    calls = [c for c in case.calls if arguments(c) and not name_of(c).startswith("print")]
    if not calls:
        return None
    one = min(calls, key=lambda c: len(list(ast.walk(c))))
    last = last_name(one) in {"gather", "index_select", "scatter", "scatter_", "index_add_", "take"}
    return wrapped(case, arguments(one)[-1 if last else 0])
