"""What an annotation says of a value."""

from __future__ import annotations

import ast

from ashore.fix.infer.module import Module, dotted
from ashore.fix.values import ARRAY, PLAIN, Origin, Value, tensor

_TENSORS = ("Tensor", "FloatTensor", "LongTensor", "IntTensor", "BoolTensor")
_LISTS = ("List", "list", "Sequence", "Iterable", "Iterator", "Set", "set")


def annotated(module: Module, node: ast.expr) -> Value | None:
    """Return the value that an annotation promises, None if it says nothing."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            quoted = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError):
            return None
        for part in ast.walk(quoted):
            if isinstance(part, ast.expr):
                part.lineno = node.lineno
        return annotated(module, quoted)
    if isinstance(node, ast.Name | ast.Attribute):
        return _named(module, node)
    if isinstance(node, ast.Subscript):
        return _subscripted(module, node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _union(module, [node.left, node.right])
    return None


def _named(module: Module, node: ast.Name | ast.Attribute) -> Value | None:
    name = module.resolve(dotted(node))
    last = name.rpartition(".")[2]
    if last in ("ndarray", "ArrayLike", "NDArray"):
        return ARRAY
    if last in _TENSORS:
        return tensor(origin=Origin("annotated as a tensor", node.lineno))
    if name.endswith("nn.Module"):
        return Value("module")
    if name in ("int", "float", "str", "bool", "bytes"):
        return PLAIN
    if name in module.classes:
        info = module.classes[name]
        is_module = any(base.endswith(("nn.Module", "LightningModule")) for base in info.bases)
        return Value("module" if is_module else "object", class_name=name)
    return None


def _subscripted(module: Module, node: ast.Subscript) -> Value | None:
    outer = dotted(node.value).rpartition(".")[2]
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if outer in ("NDArray", "ndarray"):
        return ARRAY
    if outer == "Optional":
        return annotated(module, parts[0])
    if outer == "Union":
        return _union(module, parts)
    if outer in ("Tuple", "tuple") and len(parts) > 1:
        values = [annotated(module, part) for part in parts]
        if not isinstance(parts[-1], ast.Constant):
            return Value("tuple", elements=tuple(value or Value() for value in values))
        return Value("list", element=values[0]) if values[0] else None
    if outer in (*_LISTS, "Tuple", "tuple") and parts:
        element = annotated(module, parts[0])
        return Value("list", element=element) if element else None
    if outer in ("Dict", "dict", "Mapping") and len(parts) == 2:
        element = annotated(module, parts[1])
        return Value("dict", element=element) if element else None
    if outer == "Annotated":
        return annotated(module, parts[0])
    return None


def _union(module: Module, parts: list[ast.expr]) -> Value | None:
    kinds = []
    found: Value | None = None
    for part in parts:
        if isinstance(part, ast.Constant) and part.value is None:
            continue
        value = annotated(module, part)
        kinds.append(value.kind if value is not None else "unknown")
        found = value if value is not None and (found is None or value.kind == "tensor") else found
    if "tensor" in kinds and {"array", "either"} & set(kinds):
        return Value("either")
    if found is not None and found.kind == "tensor" and len(kinds) > 1:
        return found._replace(weak=True)
    return found if len(kinds) == 1 else None
