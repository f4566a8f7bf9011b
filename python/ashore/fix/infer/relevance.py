"""Which functions of a module are worth walking: those that a meeting can depend on.

Most functions of most files do nothing with NumPy and give nothing to one that does. They are told
apart by the words in their text, long before anything is known of their values.
"""

from __future__ import annotations

import ast
import re

from ashore.fix.facts import table
from ashore.fix.infer.module import ClassInfo, Module
from ashore.fix.meetings import Function
from ashore.fix.prefilter import begins_with_conversion

_LIBRARIES = table("libraries")
_HEADS = (
    _LIBRARIES.words("modules")
    | _LIBRARIES.words("plot_modules")
    | {name.partition(".")[0] for name in _LIBRARIES.words("functions")}
    | {"numpy"}
)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_SETS = re.compile(rb"self\.(\w+)(?:\[[^\]\n]*\])?[ \t]*(?:=[^=]|\+=|,|\.(?:append|extend)\()")
_DEFINITIONS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
)
_FEW = 4  # functions
_ESTIMATOR_VERBS = frozenset(name.encode() for name in _LIBRARIES.words("estimator_verbs"))
_PLOT_BASES = frozenset(b"ax axs axes axis fig plt sns pyplot ax1 ax2 axarr".split())


def relevant(module: Module) -> set[Function] | None:
    """Return the functions to walk, None for all."""
    owners = {fn: info for info in module.classes.values() for fn in info.methods.values()}
    functions = [*module.functions.values(), *owners]
    if len(functions) < _FEW:
        return None
    words = {function: _words(_text(module, function)) for function in functions}
    outside = _words(_outside(module))  # the module's own lines are walked in any case
    marks = _marks(module)
    wanted = [fn for fn in functions if marks & words[fn] or _converts(_text(module, fn))]
    names = {function.name.encode() for function in wanted}
    waiting = wanted + [fn for fn in functions if names & words[fn]]  # callers: what they give
    by_name = _by_name(module, functions)
    if (marks | names) & outside:
        waiting += [fn for word in outside & by_name.keys() for fn in by_name[word]]
    setters = {info.name: _setters(module, info) for info in module.classes.values()}
    chosen: set[Function] = set()
    while waiting:
        function = waiting.pop()
        if function in chosen:
            continue
        chosen.add(function)
        for word in words[function] & by_name.keys():
            waiting += by_name[word]
        info = owners.get(function)
        if info is not None:
            for word in words[function] & setters[info.name].keys():
                waiting += setters[info.name][word]
    return chosen


def _converts(text: bytes) -> bool:
    return b".numpy(" in text or begins_with_conversion(text)


def _marks(module: Module) -> frozenset[bytes]:
    """Return the words that tell of NumPy and its kin in this module."""
    imported = {
        name.encode() for name, meant in module.imports.items() if meant.partition(".")[0] in _HEADS
    }
    return _PLOT_BASES | _ESTIMATOR_VERBS | imported


def _by_name(module: Module, functions: list[Function]) -> dict[bytes, list[Function]]:
    """Return the functions that a word may mean; a class means what makes and calls it."""
    found: dict[bytes, list[Function]] = {}
    for function in functions:
        found.setdefault(function.name.encode(), []).append(function)
    for info in module.classes.values():
        for name in ("__init__", "forward"):
            if name in info.methods:
                found.setdefault(info.name.encode(), []).append(info.methods[name])
    return found


def _setters(module: Module, info: ClassInfo) -> dict[bytes, list[Function]]:
    """Return the methods that set or fill each attribute."""
    found: dict[bytes, list[Function]] = {}
    for function in info.methods.values():
        for name in set(_SETS.findall(_text(module, function))):
            found.setdefault(name, []).append(function)
    return found


def _text(module: Module, function: Function) -> bytes:
    first = function.decorator_list[0].lineno if function.decorator_list else function.lineno
    return module.source.body_of(first, function.end_lineno or function.lineno)


def _outside(module: Module) -> bytes:
    """Return the text of the module's own statements."""
    own = [
        module.source.body_of(statement.lineno, statement.end_lineno or statement.lineno)
        for statement in module.source.tree.body
        if not isinstance(statement, _DEFINITIONS)
    ]
    return b"\n".join(own)


def _words(text: bytes) -> frozenset[bytes]:
    return frozenset(_WORD.findall(text))
