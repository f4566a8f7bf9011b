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

FRESH = re.compile(
    r"^torch\.(zeros|ones|randn?|arange|tensor|eye|full|empty|linspace|as_tensor|from_numpy)\b"
)
_MOVED = re.compile(r"device|\.(to|cuda)\(|requires_grad")


class Origins:
    """Answer from the file, or from the lines that the traceback shows, what a name is."""

    def __init__(self, statement: Statement, frame: Frame) -> None:
        """Take the statement, with the tree of its file if that could be read."""
        self._kinds: dict[str, set[str]] = {}
        self._plain: set[str] = set()  # lists that numbers are put into
        self._fresh: dict[str, bool] = {}  # whether torch.zeros(…) and the like is all it ever is
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
            if node.id in self._plain:
                return "number"
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

    def is_fresh(self, node: ast.AST) -> bool:
        """Tell whether a name is a tensor made on the CPU, and nothing else."""
        return isinstance(node, ast.Name) and self._fresh.get(node.id, False)

    def _learn(self, module: ast.Module, line: int) -> None:
        for node in ast.walk(module):
            if getattr(node, "lineno", 0) > line:
                continue
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                for target, value in _pairs(node.targets[0], node.value):
                    self._note(target, _made_by(value))
                    name, text = ast.unparse(target), ast.unparse(value)
                    fresh = FRESH.match(text) is not None and not _MOVED.search(text)
                    self._fresh[name] = fresh and self._fresh.get(name, True)
            elif isinstance(node, ast.Call) and _adds_plain(node):
                assert isinstance(node.func, ast.Attribute)
                self._plain.add(ast.unparse(node.func.value))
            elif isinstance(node, ast.For):
                self._note(node.target, "number" if name_of(node.iter) == "range" else "")

    def _note(self, target: ast.AST, kind: str) -> None:
        if isinstance(target, ast.Name):
            self._kinds.setdefault(target.id, set()).add(kind)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return what is assigned to what, in `a, b = [], []` too."""
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        return [(target, value)]
    return list(zip(target.elts, value.elts, strict=False))


def _adds_plain(call: ast.Call) -> bool:
    """Tell whether a call is `xs.append(x.item())` or `xs.extend(y.tolist())`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in {"append", "extend"}:
        return False
    return len(call.args) == 1 and bool(
        re.search(r"\.(item|tolist)$|^(int|float|len)$", name_of(call.args[0]))
    )


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
            plain = node.args and isinstance(node.args[0], ast.Constant)
            plain = plain or (node.args and name_of(node.args[0]) == "range")
            return "number" if plain else "list"
        if name in {"range", "len", "int", "float", "str", "sorted", "max", "min"}:
            return "number"
        if NUMPY.match(name) or re.search(r"\.(numpy|to_numpy|tolist|item|ravel_)$", name):
            return "array"
        if re.match(r"torch\.|F\.|model|net", name) or re.search(r"\.(to|cuda|detach)$", name):
            return "tensor"
    return ""
