"""On which device an expression such as `device`, "cuda:0" or `args.gpu` puts a tensor."""

from __future__ import annotations

import ast
import re

from ashore.fix.facts import table
from ashore.fix.infer.module import dotted
from ashore.fix.infer.scope import Scope
from ashore.fix.values import Device

_NAMES = table("torch").pattern("device_names")
_DTYPE = re.compile(r"^(torch|np|numpy)\.\w+$|dtype", re.IGNORECASE)


def device_of(scope: Scope, node: ast.expr) -> Device | None:
    """Return the device that an argument of `.to()` or `device=` names; None if it names none."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return "cpu" if node.value.startswith(("cpu", "meta")) else "accelerator"
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            return "accelerator"
        return None
    known = scope.value_of(node)
    if known.kind == "device":
        return known.device
    if known.kind == "tensor":
        return known.device
    name = dotted(node)
    if name and _DTYPE.search(name):
        return None
    if isinstance(node, ast.Attribute) and node.attr == "device":
        base = scope.value_of(node.value)
        if base.kind in ("tensor", "module") and base.device != "unknown":
            return base.device
    if isinstance(node, ast.IfExp):
        return device_of(scope, node.body) if isinstance(node.body, ast.Constant) else "named"
    if "cpu" in name.lower() and not re.search("cuda|gpu", name, re.IGNORECASE):
        return "cpu"  # `self._cpu_device`
    if name and _NAMES.search(name):
        return "named"
    if isinstance(node, ast.JoinedStr) and "cuda" in ast.unparse(node):
        return "accelerator"
    return "unknown"


def device_argument(scope: Scope, call: ast.Call) -> Device | None:
    """Return the device that a call of `.to()` moves to; None if it only changes the dtype."""
    for keyword in call.keywords:
        if keyword.arg == "device":
            return device_of(scope, keyword.value)
    return device_of(scope, call.args[0]) if call.args else None


def dtype_argument(call: ast.Call) -> str:
    """Return the dtype that a call names, as `torch` spells it, or an empty string."""
    for node in [*call.args, *(keyword.value for keyword in call.keywords)]:
        name = dotted(node)
        if name.startswith("torch.") and name.count(".") == 1:
            return name[6:]
    return ""
