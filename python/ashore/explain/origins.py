"""What the lines around say of a name (a list, an array, a number); breaks ties."""

from __future__ import annotations

import ast
import re

from ashore.explain.frames import Frame
from ashore.explain.guilty import NUMPY, name_of
from ashore.explain.statement import Statement

_NUMBERS = re.compile(
    r"^(epochs?|steps?|n_?\w*epochs|iters?|iterations?|idx|index|indices|i|j|k|bins|lr|lrs|names|classes|class_names|"
    r"colou?rs?|labels_names|title|path|filename|fname|fontsize|axis|dtype|thresholds?|ks?|rate|sr|fs|x_?axis|ticks|time_?steps?)$"
)
_LISTS = re.compile(
    r"(^|_)(losses|accs|accuracies|history|hist|lists?|lst|rewards|returns|lengths|durations)$|^all_\w+$|^\w*losses$"
)


class Origins:
    """Answer from the file, or from the lines that the traceback shows, what a name is."""

    def __init__(self, statement: Statement, frame: Frame) -> None:
        """Take the statement, with the tree of its file if that could be read."""
        self._kinds: dict[str, set[str]] = {}
        text = "\n".join(line for _, line in frame.around)
        if statement.module is not None:
            self._learn(statement.module, statement.row + 1)
            text = "\n".join(statement.lines)
        self.has_device = bool(
            re.search(r"^\s*(?:\w+, *)?device *= |\bdevice[,:)]|\(device\)", text, re.MULTILINE)
        )

    def kind(self, node: ast.AST) -> str:
        """Return "list", "array", "number", "tensor", or nothing where none is known."""
        if isinstance(node, ast.Name):
            known = self._kinds.get(node.id, set())
            if len(known) == 1:
                return next(iter(known))
            if "list" in known:
                return "list"
            if known:
                return ""
            if _NUMBERS.match(node.id):
                return "number"
            return "list" if _LISTS.search(node.id) else ""
        if isinstance(node, ast.Attribute):
            return "number" if node.attr in {"shape", "size", "dtype", "device"} else (
                "list" if _LISTS.search(node.attr) else "")  # fmt: skip
        return _made_by(node)

    def _learn(self, module: ast.Module, line: int) -> None:
        for node in ast.walk(module):
            if getattr(node, "lineno", 0) > line:
                continue
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._note(node.targets[0], _made_by(node.value))
            elif isinstance(node, ast.For):
                self._note(node.target, "number" if name_of(node.iter) == "range" else "")

    def _note(self, target: ast.AST, kind: str) -> None:
        if isinstance(target, ast.Name):
            self._kinds.setdefault(target.id, set()).add(kind)


def _made_by(node: ast.AST) -> str:
    if isinstance(node, ast.List | ast.ListComp | ast.GeneratorExp):
        elements = node.elts if isinstance(node, ast.List) else []
        plain = elements and all(isinstance(e, ast.Constant) for e in elements)
        return "number" if plain else "list"
    if isinstance(node, ast.Constant | ast.Compare | ast.JoinedStr):
        return "number"
    if isinstance(node, ast.Call):
        name = name_of(node)
        if name == "list":
            return "list" if not node.args or name_of(node.args[0]) != "range" else "number"
        if name in {"range", "len", "int", "float", "str", "sorted", "max", "min"}:
            return "number"
        if NUMPY.match(name) or re.search(r"\.(numpy|to_numpy|tolist|item|ravel_)$", name):
            return "array"
        if re.match(r"torch\.|F\.|model|net", name) or re.search(r"\.(to|cuda|detach)$", name):
            return "tensor"
    return ""
