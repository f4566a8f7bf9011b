"""Compile a file of the user's so that what its expressions hold is known while it runs.

Arguments, elements, stored and returned values become `_ashore_see(number, value)`, functions of
NumPy's and torch's `_ashore_call(number, function)(…)`. Nodes keep their positions, so tracebacks
stay true.
"""

from __future__ import annotations

import ast
import types
from typing import Any

from ashore.fix.digest import digest_of
from ashore.fix.source import Source, read_source

SEE = "_ashore_see"
CALL = "_ashore_call"
_PER_FILE = 1 << 24  # numbers of expressions

Place = tuple[int, int, int, int]  # line, column, end line, end column, as ast gives them
RETURNS = ast.Return | ast.Lambda | ast.Yield
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp
_CALLED = ("numpy", "torch")  # libraries of whose functions each call is watched
FILLING = ("append", "insert", "appendleft", "add")


class Instrumented:
    """Hold a file's tree as it stands on disk, for questions about running code."""

    def __init__(self, source: Source, first: int) -> None:
        """Number the expressions from `first`."""
        self.path = source.path
        self.digest = digest_of(source.raw)
        self.first = first
        self.nodes = [node for node in ast.walk(source.tree) if _has_place(node)]
        self.parents: dict[ast.AST, ast.AST] = {}
        self.by_place: dict[Place, list[ast.AST]] = {}
        self.by_end: dict[tuple[int, int], list[ast.Call]] = {}
        for node in ast.walk(source.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
        self.numbers: dict[ast.AST, int] = {}
        for number, node in enumerate(self.nodes, first):
            self.numbers[node] = number
            self.by_place.setdefault(place_of(node), []).append(node)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                self.by_end.setdefault(place_of(node)[2:], []).append(node)

    def node(self, number: int) -> ast.AST:
        """Return the expression of a number."""
        return self.nodes[number - self.first]

    def expression(self, number: int) -> ast.expr:
        """Return an expression by its number, where a statement has none."""
        node = self.node(number)
        assert isinstance(node, ast.expr)
        return node

    def fills(self, number: int) -> bool:
        """Tell whether an expression becomes an element of a container, or is returned."""
        node = self.node(number)
        parent = self.parents.get(node)
        if isinstance(parent, ast.Call):
            func = parent.func
            return isinstance(func, ast.Attribute) and func.attr in FILLING and node is not func
        if isinstance(parent, _Comprehension):
            return node is parent.elt
        if isinstance(parent, ast.Assign):
            return any(isinstance(target, ast.Subscript) for target in parent.targets)
        return isinstance(parent, ast.List | ast.Tuple | ast.Set | ast.Dict | RETURNS)

    def filled(self, number: int) -> int | None:
        """Return the number of the list that an element is appended to, where that is said."""
        parent = self.parents.get(self.node(number))
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
            return self.numbers[parent.func.value]
        return None


class Files:
    """Hold the instrumented files of this process, by the name that their code objects have."""

    def __init__(self) -> None:
        """Start with none."""
        self.by_name: dict[str, Instrumented] = {}
        self.in_order: list[Instrumented] = []

    def compile(self, path: str, name: str, raw: bytes) -> types.CodeType:
        """Compile a file; raises Unreadable where the file is not one that can be edited."""
        tree = self.instrument(path, name, raw)
        code: types.CodeType = compile(tree, name, "exec", dont_inherit=True)
        return code

    def instrument(self, path: str, name: str, raw: bytes) -> ast.Module:
        """Return a file's tree to be compiled under a name."""
        source = read_source(path, raw)
        file = Instrumented(source, len(self.in_order) * _PER_FILE)
        tree = ast.parse(source.body.decode())
        same = (node for node in ast.walk(tree) if _has_place(node))
        numbers = {node: number for number, node in enumerate(same, file.first)}
        _Instrument(numbers, _names_of_libraries(tree)).visit(tree)
        self.by_name[name] = file
        self.in_order.append(file)
        return tree

    def of(self, number: int) -> Instrumented:
        """Return the file in which an expression stands."""
        return self.in_order[number // _PER_FILE]


def place_of(node: Any) -> Place:
    """Return where a node stands."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _has_place(node: ast.AST) -> bool:
    return isinstance(node, ast.expr | ast.stmt)


def _names_of_libraries(tree: ast.Module) -> frozenset[str]:
    """Return the names that stand for NumPy, torch, and what is in them."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                head = alias.name.partition(".")[0]
                if head in _CALLED:
                    names.add(alias.asname or head)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            head = (node.module or "").partition(".")[0]
            names |= {a.asname or a.name for a in node.names if head in _CALLED}
    return frozenset(names)


def _root(func: ast.expr) -> ast.expr:
    while isinstance(func, ast.Attribute):
        func = func.value
    return func


class _Instrument(ast.NodeTransformer):
    def __init__(self, numbers: dict[ast.AST, int], libraries: frozenset[str]) -> None:
        self._numbers = numbers
        self._libraries = libraries

    def _seen(self, node: Any) -> Any:
        if node is None or isinstance(
            node, ast.Constant | ast.Starred | ast.JoinedStr | ast.Lambda
        ):
            return node
        number = self._numbers.get(node)
        return node if number is None else _call(SEE, number, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        func, number = node.func, self._numbers[node]
        self.generic_visit(node)
        if isinstance(func, ast.Attribute) and func.attr in FILLING:
            func.value = self._seen(func.value)
        node.args = [self._seen(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self._seen(keyword.value)
        root = _root(func)
        if isinstance(root, ast.Name) and root.id in self._libraries:
            node.func = _call(CALL, number, node.func)
        return node

    def _visit_elements(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        if isinstance(getattr(node, "ctx", None), ast.Load | None):
            node.elts = [self._seen(element) for element in node.elts]
        return node  # type: ignore[no-any-return]

    visit_List = visit_Tuple = visit_Set = _visit_elements

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        pairs = zip(node.keys, node.values, strict=True)
        node.values = [value if key is None else self._seen(value) for key, value in pairs]
        return node

    def _visit_comprehension(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        node.elt = self._seen(node.elt)
        return node  # type: ignore[no-any-return]

    visit_ListComp = visit_GeneratorExp = visit_SetComp = _visit_comprehension

    def _visit_value(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        node.value = self._seen(node.value)
        return node  # type: ignore[no-any-return]

    visit_Return = visit_Yield = _visit_value

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        node.body = self._seen(node.body)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if any(isinstance(target, ast.Subscript | ast.Attribute) for target in node.targets):
            node.value = self._seen(node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.slice, ast.Slice | ast.Tuple):
            node.slice = self._seen(node.slice)
        return node


def _call(name: str, number: int, value: Any) -> ast.Call:
    """Return `name(number, value)` at the value's place."""
    func, constant = ast.Name(name, ast.Load()), ast.Constant(number)
    call = ast.Call(func, [constant, value], [])
    for node in (func, constant, call):
        ast.copy_location(node, value)
    return call
