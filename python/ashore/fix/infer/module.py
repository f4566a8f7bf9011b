"""The static skeleton of a module: its imports, functions, classes, and what its text mentions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ashore.fix.facts import table
from ashore.fix.meetings import Function
from ashore.fix.source import Source

_TORCH_FAMILY = table("libraries").words("torch_family")
_FOREIGN = table("libraries").words("foreign")
_NO_MODEL = table("torch").pattern("no_model_names")
_TENSOR_WORDS = (b".detach()", b".cpu()", b".cuda()", b".data.numpy()", b"torch.")
_MOVES = re.compile(rb"\.to\((?!torch\.\w+\)|dtype)")
_MODEL_USE = re.compile(rb"\.(?:eval|parameters|named_parameters|zero_grad|load_state_dict)\(")
_NAME_BEFORE = re.compile(rb"[A-Za-z_][\w.]*$")


@dataclass
class ClassInfo:
    """Hold a class: its methods and what it is made from."""

    name: str
    node: ast.ClassDef
    bases: tuple[str, ...]  # resolved
    methods: dict[str, Function] = field(default_factory=dict)


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for such an expression, else an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    path = ""
    while isinstance(node, ast.Attribute):
        path = f".{node.attr}{path}"
        node = node.value
    return node.id + path if path and isinstance(node, ast.Name) else ""


class Module:
    """Hold the skeleton of one file."""

    def __init__(self, source: Source) -> None:
        """Walk over the statements once."""
        self.source = source
        self.imports: dict[str, str] = {}
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, ClassInfo] = {}
        for statement in _statements(source.tree.body):
            if isinstance(statement, ast.Import):
                for one in statement.names:
                    name = one.asname or one.name.partition(".")[0]
                    self.imports[name] = one.name if one.asname else name
            elif isinstance(statement, ast.ImportFrom):
                prefix = "." * statement.level + (statement.module or "")
                joint = "" if prefix.endswith(".") else "."
                for one in statement.names:
                    self.imports[one.asname or one.name] = f"{prefix}{joint}{one.name}"
            elif isinstance(statement, ast.ClassDef):
                self._add_class(statement)
        for statement in _statements(source.tree.body, inside_functions=False):
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.setdefault(statement.name, statement)
        self._read_text(source.body)

    def _add_class(self, node: ast.ClassDef) -> None:
        info = ClassInfo(node.name, node, tuple(self.resolve(dotted(base)) for base in node.bases))
        for member in _statements(node.body, inside_functions=False):
            if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                info.methods[member.name] = member
        self.classes[node.name] = info

    def _read_text(self, body: bytes) -> None:
        packages = {name.partition(".")[0] for name in self.imports.values()}
        self.packages = packages
        self.has_torch = "torch" in packages
        self.knows_torch = not packages.isdisjoint(_TORCH_FAMILY) or any(
            word in body for word in _TENSOR_WORDS
        )
        self.foreign = bool(packages & _FOREIGN)
        self.mentions_device = (
            b"cuda" in body or b"device" in body or _MOVES.search(body) is not None
        )
        self.mentions_no_grad = b"no_grad" in body or b"inference_mode" in body
        self.mentions_backward = b".backward(" in body
        self.default_device = b"set_default_device" in body or b"set_default_tensor_type" in body
        self.used_as_models = set(_used_as_models(body))

    def resolve(self, name: str) -> str:
        """Return a dotted name as the import statements mean it."""
        head, dot, rest = name.partition(".")
        meant = self.imports.get(head)
        return name if meant is None else meant + dot + rest


def _used_as_models(body: bytes) -> Iterator[str]:
    for use in _MODEL_USE.finditer(body):
        name = _NAME_BEFORE.search(body, max(0, use.start() - 60), use.start())
        if name is not None and not _NO_MODEL.search(name[0].decode()):
            yield name[0].decode()


def _statements(body: list[ast.stmt], *, inside_functions: bool = True) -> Iterator[ast.stmt]:
    """Yield statements in order, with those inside branches; of functions only if wanted."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if inside_functions:
                yield from _statements(statement.body)
        elif isinstance(statement, _COMPOUND):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(
                    getattr(statement, part, None) or [], inside_functions=inside_functions
                )
            for handler in getattr(statement, "handlers", ()):
                yield from _statements(handler.body, inside_functions=inside_functions)


_COMPOUND = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
)
