"""What is known where: the run over one module, and the scope of the function being walked.

`Scope.value_of` asks the handler of a node's type; the modules of this package register theirs.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from ashore.fix.infer.module import ClassInfo, Module, dotted
from ashore.fix.meetings import Context, Function, Meeting
from ashore.fix.values import UNKNOWN, Origin, Value, join

Env = dict[str, Value]
Handler = Callable[["Scope", Any], Value]
Follow = Callable[["Run", str], "Run | None"]
H = TypeVar("H", bound=Handler)

HANDLERS: dict[type[ast.AST], Handler] = {}


def handles(*types: type[ast.AST]) -> Callable[[H], H]:
    """Register a function as the one that values nodes of these types."""

    def register(handler: H) -> H:
        for kind in types:
            HANDLERS[kind] = handler
        return handler

    return register


class Run:
    """Hold what the passes over a module have found out so far."""

    def __init__(self, module: Module, follow: Follow, depth: int = 0) -> None:
        """Start with nothing known; `depth` counts the imports that led here."""
        self.module = module
        self.follow = follow
        self.depth = depth
        self.opened: set[str] = set()  # files of the project that were looked into
        self.elsewhere: set[str] = set()  # imported names that are not the project's
        self.globals: Env = {}
        self.returns: dict[Function, Value] = {}
        self.attributes: dict[tuple[str, str], Value] = {}  # of the pass before
        self.stored: dict[tuple[str, str], Value] = {}  # attributes, of this pass
        self.arguments: dict[Function, dict[int | str, Value]] = {}  # of the pass before
        self.calls: dict[Function, dict[int | str, Value]] = {}  # of this pass
        self.hands_over: dict[Function, dict[str, str]] = {}  # parameter: what NumPy does with it
        self.elements: dict[ast.expr, Value] = {}  # what is put into lists, tuples and dicts
        self.meetings: dict[tuple[type[Meeting], ast.AST], Meeting] = {}
        self.backward: set[tuple[int, int]] = set()  # conversions whose result reaches backward()
        self.written: dict[tuple[int, int], int] = {}  # conversions whose array is written: line
        self.parents: dict[ast.AST, ast.AST] | None = None  # of all nodes, made when asked for
        self.waiting: list[tuple[Function, str]] = []  # functions met, not walked yet
        self.walked: set[Function] | None = None  # those that are worth it; None: all
        self.on_demand: dict[Function, str] = {}  # functions to walk when somebody asks

    def meet(self, meeting: Meeting) -> None:
        """Note a meeting; a later walk over the same node knows more."""
        self.meetings[type(meeting), meeting.node] = meeting

    def attribute(self, class_name: str, name: str) -> Value | None:
        """Return what a class of this module stores, as the pass before or this one has seen."""
        at = (class_name, name)
        value = self.attributes.get(at)
        return self.stored.get(at) if value is None else value

    def store(self, class_name: str, name: str, value: Value) -> None:
        """Note what is stored under an attribute of a class of this module."""
        at = (class_name, name)
        self.stored[at] = join(self.stored.get(at), value)

    def demand(self, function: Function) -> None:
        """Walk a function now, where functions are walked on demand and this one was not."""
        if function in self.on_demand:
            from ashore.fix.infer.functions import walk_function

            walk_function(self, function, self.on_demand.pop(function), Scope(self))

    def class_of(self, name: str) -> tuple[Run, ClassInfo] | None:
        """Find a class by its name in this module, of the project or not at all."""
        info = self.module.classes.get(name)
        if info is not None:
            return self, info
        there = self.follow(self, name)
        if there is None:
            return None
        info = there.module.classes.get(name.rpartition(".")[2])
        return None if info is None else (there, info)

    def function_of(self, name: str) -> tuple[Run, Function] | None:
        """Find a function by its name, likewise."""
        function = self.module.functions.get(name)
        if function is not None:
            return self, function
        there = self.follow(self, name)
        if there is None:
            return None
        function = there.module.functions.get(name.rpartition(".")[2])
        return None if function is None else (there, function)

    def method_of(self, class_name: str, name: str, depth: int = 0) -> tuple[Run, Function] | None:
        """Find a method in a class or its bases."""
        found = self.class_of(class_name)
        if found is None or depth > 4:
            return None
        run, info = found
        if name in info.methods:
            return run, info.methods[name]
        for base in info.bases:
            if base != class_name:
                method = run.method_of(base, name, depth + 1)
                if method is not None:
                    return method
        return None

    def attribute_of(self, class_name: str, name: str) -> Value | None:
        """Return what the class's methods store under an attribute."""
        found = self.class_of(class_name)
        if found is None:
            return None
        run, info = found
        if "__init__" in info.methods:
            run.demand(info.methods["__init__"])
        value = run.attribute(info.name, name)
        if value is None:
            for base in info.bases:
                inherited = run.module.classes.get(base)
                if inherited is not None and base != class_name:
                    value = run.attribute(base, name)
        return value


class Scope:
    """Hold what is known at one point of a function, or of the module itself."""

    def __init__(
        self,
        run: Run,
        function: Function | None = None,
        class_name: str = "",
        env: Env | None = None,
    ) -> None:
        """Begin a function with what its surroundings know."""
        self.run = run
        self.module = run.module
        self.function = function
        self.class_name = class_name
        self.env: Env = {} if env is None else env
        self.outer: Env = run.globals if function is not None else {}
        self.compound: set[str] = set()  # keys such as `a.b` and `a['b']` that were bound
        self.no_grad = False
        self.bfloat16 = False
        self.gradient = ""
        self.untouchable = ""
        self.jumps: list[Env] = []  # what is known where the innermost loop is left or goes on
        self.returned: Value | None = None
        self.tested_returns: list[Value] = []  # returned right inside `if <device test>`

    def value_of(self, node: ast.AST | None) -> Value:
        """Return what is known of an expression's value, noting the meetings inside it."""
        if node is None:
            return UNKNOWN
        handler = HANDLERS.get(type(node))
        if handler is not None:
            return handler(self, node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value_of(child)
        return UNKNOWN

    def look_up(self, key: str) -> Value | None:
        """Return what is known under a key, here or around."""
        value = self.env.get(key)
        return self.outer.get(key) if value is None else value

    def bind(self, key: str, value: Value) -> None:
        """Bind a name; what was known of its parts is forgotten."""
        self.env[key] = value
        if self.compound:
            for part in [p for p in self.compound if p.startswith((f"{key}.", f"{key}["))]:
                self.env.pop(part, None)

    def bind_part(self, key: str, value: Value) -> None:
        """Bind a part of something: `a.b` or `a['b']`."""
        self.compound.add(key)
        self.env[key] = value

    def origin(self, text: str, node: ast.expr | ast.stmt) -> Origin:
        """Say that something comes from this node."""
        return Origin(text, node.lineno)

    def context(self) -> Context:
        """Say where we are, for a meeting."""
        return Context(
            self.function, self.class_name, self.no_grad, self.gradient, self.untouchable
        )


def key_of(node: ast.AST) -> str:
    """Return the key under which an expression's value is known: `a`, `a.b`, `a['b']`; or ""."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return dotted(node)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        base = key_of(node.value)
        return f"{base}[{node.slice.value!r}]" if base else ""
    return ""


def join_envs(a: Env | None, b: Env | None) -> Env | None:
    """Return what is known where two paths meet; None is a path that does not go on."""
    if a is None or b is None:
        return b if a is None else a
    joined = dict(a)
    for key, value in b.items():
        mine = a.get(key)
        if mine is not value:
            joined[key] = value if mine is None else join(mine, value)
    return joined


POSITIONS_IN_FSTRINGS = sys.version_info >= (3, 12)  # before, ast gives wrong ones
