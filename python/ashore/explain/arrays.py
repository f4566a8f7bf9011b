"""Families where NumPy, a plot or Python's own functions read a tensor."""

from __future__ import annotations

import ast
import re

from ashore.explain.guilty import (
    LIBRARY,
    NUMPY,
    called_by_array,
    calls_of,
    last_name,
    library_calls,
    name_of,
)
from ashore.explain.repair import (
    Case,
    Edit,
    Found,
    arguments,
    atom,
    fill,
    found,
    is_plain,
    suffixed,
    wrapped,
)

_PLOTS = re.compile(r"^(plt|pyplot|pylab|ax\d?|axs|axes|axis|ax_\w+|\w+_ax|fig|sns|seaborn)\b")
# Of a tensor these call its own method, which fails otherwise: only lists get so far.
_LIST_ONLY = frozenset("sum mean std var max min prod any all amax amin nanmean_".split())
_SEQUENCES = frozenset(
    "concatenate stack vstack hstack dstack column_stack row_stack block average_".split()
)
_OF_SEVERAL = frozenset(
    """dot matmul where interp polyfit corrcoef maximum minimum isclose allclose array_equal append
    outer add subtract multiply divide savez""".split()
)
_FILE_FIRST = frozenset("save savetxt savez savez_compressed imwrite imsave".split())
_IMAGE_MADE = re.compile(r"\.byte\(\)|uint8")  # nothing is left to do but to leave the GPU
_GUARDS = {
    ".detach().cpu()": re.compile(
        r"\.cpu\(\)|\.to\((device=)?['\"]cpu['\"]\)|\.numpy\(|\.tolist\(|\.item\("
    ),
    ".detach()": re.compile(r"\.detach\(\)|\.data\b|\.numpy\(|\.tolist\(|\.item\("),
    ".float()": re.compile(r"\.float\(\)|\.to\(torch\.float32\)|\.item\("),
}


def array(case: Case) -> Found | None:
    """A tensor is read as an array: by .numpy(), NumPy, a library, or a store into an array."""
    return _receiver(case) or _argument(case) or _stored(case) or _operand(case) or _any_call(case)


def reduce(case: Case) -> Found | None:
    """NumPy's sum, mean and the like call the tensor's own, which takes other arguments."""
    name = case.groups.get("name", "")
    aliases = {name, {"max": "amax", "min": "amin"}.get(name, name)}
    calls = [call for call in case.calls if last_name(call) in aliases] or case.calls
    for call in calls:
        if NUMPY.match(name_of(call)) and arguments(call):
            return wrapped(case, arguments(call)[0])
    for call in calls:
        if isinstance(call.func, ast.Attribute) and last_name(call) == name:
            return wrapped(case, call.func.value)
    return wrapped(case, arguments(calls[0])[0]) if calls and arguments(calls[0]) else None


def method(case: Case) -> Found | None:
    """A method of a tensor, or torch's function of that name."""
    for call in [c for c in case.calls if last_name(c) == case.groups.get("name")]:
        if name_of(call).startswith("torch.") and arguments(call):
            return wrapped(case, arguments(call)[0])
        if isinstance(call.func, ast.Attribute):
            return wrapped(case, call.func.value)
    return None


def call(case: Case) -> Found | None:
    """The first argument of the call that failed."""
    if "to_image" in case.wording.repair and _IMAGE_MADE.search(ast.unparse(case.statement.tree)):
        wording = case.wording._replace(repair="{x}.detach().cpu().numpy()")
        case = case._replace(wording=wording)
    return _any_call(case)


def _receiver(case: Case) -> Found | None:
    if not called_by_array(case.deeper):
        return None
    receivers = [
        c.func.value
        for c in case.calls
        if isinstance(c.func, ast.Attribute) and c.func.attr in {"numpy", "__array__"}
    ]
    if case.deeper:  # then NumPy asked, and not the line itself
        receivers = [] if library_calls(case.calls) else receivers
    nodes = _unguarded(case, receivers)
    if not nodes:
        return None
    edits: list[Edit] = [(node, suffixed(case, node, case.wording.repair)) for node in nodes]
    others = tuple(case.statement.text(node) for node in nodes[1:])
    return found(case, nodes[0], edits)._replace(others=others)


def _argument(case: Case) -> Found | None:
    calls = library_calls(case.calls)
    if isinstance(case.operation, ast.Call):
        calls = [case.operation]
    elif not called_by_array(case.deeper):
        calls = calls or calls_of(case.statement)[:1]
    for one in calls:
        if _converts(one):
            continue
        nodes = _suspects(case, one)
        if nodes:
            return _converted(case, one, nodes)
    return None


def _converts(one: ast.Call) -> bool:
    return isinstance(one.func, ast.Attribute) and one.func.attr == "numpy" and not one.args


def _suspects(case: Case, one: ast.Call) -> list[ast.expr]:
    """Return the arguments that may be what could not be read."""
    given = arguments(one)
    if last_name(one) in _FILE_FIRST and one.args and given[:1] == one.args[:1]:
        given = given[1:]
    nodes = [node for node in given if not _is_other(node)]
    nodes = _unguarded(case, nodes)
    if len(nodes) > 1:
        kinds = {id(node): case.origins.kind(node) for node in nodes}
        nodes = [n for n in nodes if kinds[id(n)] not in {"number", "array"}] or nodes[-1:]
        nodes = [n for n in nodes if not case.origins.is_fresh(n)] or nodes
    if len(nodes) > 1 and NUMPY.match(name_of(one)):
        nodes = nodes if last_name(one) in _OF_SEVERAL else nodes[:1]
    return nodes


def _is_other(node: ast.expr) -> bool:
    """Tell whether the expression is a call that does not give a tensor."""
    name = name_of(node)
    return (
        name in {"range", "len", "str", "int", "float", "open"}
        or bool(NUMPY.match(name))
        or (isinstance(node, ast.Attribute) and bool(NUMPY.match(ast.unparse(node))))
    )


def _unguarded(case: Case, nodes: list[ast.expr]) -> list[ast.expr]:
    guard = _GUARDS.get(case.wording.repair[3:])
    if guard is None:
        return nodes
    free = [node for node in nodes if not guard.search(case.statement.text(node))]
    return free or nodes[:1]


def _converted(case: Case, one: ast.Call, nodes: list[ast.expr]) -> Found:
    name = last_name(one)
    by_numpy = bool(NUMPY.match(name_of(one)))
    edits: list[Edit] = []
    lists = False
    for node in nodes:
        is_list = case.origins.kind(node) == "list"
        is_list = is_list or (by_numpy and name in _SEQUENCES | _LIST_ONLY)
        lists = lists or is_list or isinstance(node, ast.ListComp)
        edits += _edits(case, node, is_list)
    if by_numpy and lists and name in {"sum", "mean"} and _is_loss(case):
        made = f"torch.stack({case.statement.text(nodes[0])}).{name}()"
        return found(case, nodes[0], [(one, made)], "TN202")
    rule = "TN204"
    if by_numpy:
        rule = "TN202" if lists else "TN201"
    elif _PLOTS.match(name_of(one)):
        rule = "TN203"
    shown = found(case, nodes[0], edits, rule)
    return shown._replace(others=tuple(case.statement.text(node) for node in nodes[1:]))


def _is_loss(case: Case) -> bool:
    """Tell whether what the statement makes is a loss, whose gradient has to be kept."""
    tree = case.statement.tree
    if not isinstance(tree, ast.Assign) or not isinstance(tree.targets[0], ast.Name):
        return False
    name = tree.targets[0].id
    if case.statement.module is None:
        return name in {"loss", "total_loss", "batch_loss"}
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "backward"
        and name in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        for node in ast.walk(case.statement.module)
    )


def _edits(case: Case, node: ast.expr, is_list: bool) -> list[Edit]:
    """Return edits after which the elements of a list, or the expression itself, can be read."""
    template = case.wording.repair
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return [(node.elt, suffixed(case, node.elt, template))]
    if isinstance(node, ast.List | ast.Tuple):
        inner = [e for e in node.elts if not is_plain(e) and not _is_other(e)]
        inner = _unguarded(case, inner)
        return [edit for e in inner for edit in _edits(case, e, False)]
    if isinstance(node, ast.Dict):
        inner = [v for v in node.values if not is_plain(v) and not _is_other(v)]
        inner = [v for v in inner if case.origins.kind(v) not in {"number", "array"}] or inner
        return [edit for v in _unguarded(case, inner) for edit in _edits(case, v, False)]
    if is_list:
        each = fill(template, "t")
        return [(node, f"[{each} for t in {case.statement.text(node)}]")]
    return [(node, suffixed(case, node, template))]


def _stored(case: Case) -> Found | None:
    """Find what is put into an array, or used as its index."""
    called = library_calls(calls_of(case.statement))
    for node in case.statement.nodes() if not called else ():
        if isinstance(node, ast.Assign | ast.AugAssign) and not is_plain(node.value):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Subscript):
                return found(case, node.value, _edits(case, node.value, False), "TN205")
    subscripts = [n for n in case.statement.nodes() if isinstance(n, ast.Subscript)]
    if isinstance(case.operation, ast.Subscript):
        subscripts = [case.operation]
    for node in subscripts if case.deeper else ():
        if isinstance(node.slice, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            return found(case, node.slice, _edits(case, node.slice, False), "TN205")
    return None


def _operand(case: Case) -> Found | None:
    """Find `tensor * array`: the array has to become a tensor."""
    nodes = [n for n in case.statement.nodes() if isinstance(n, ast.BinOp)]
    if isinstance(case.operation, ast.BinOp):
        nodes = [case.operation]
    elif not case.deeper:
        return None
    for node in nodes:
        right = case.statement.text(node.right)
        new = f"torch.as_tensor({right}, device={atom(case, node.left)}.device)"
        return found(case, node.right, [(node.right, new)], "TN201")
    return None


def _any_call(case: Case) -> Found | None:
    calls = case.calls
    inner = [c for c in reversed(calls) if arguments(c)]
    preferred = [c for c in inner if LIBRARY.match(name_of(c))] or inner
    for one in preferred:
        nodes = _suspects(case, one)
        if nodes:
            return _converted(case, one, nodes[:1])
    return None
