"""Which functions of a module are worth walking: those that a meeting can depend on.

Most functions of most files do nothing with NumPy and give nothing to one that does. They are told
apart by the words in their text, long before anything is known of their values.
"""

from __future__ import annotations

import re

from ashore.fix.facts import table
from ashore.fix.infer.module import ClassInfo, Module
from ashore.fix.meetings import Function

_LIBRARIES = table("libraries")
_HEADS = (
    _LIBRARIES.words("modules")
    | _LIBRARIES.words("plot_modules")
    | {name.partition(".")[0] for name in _LIBRARIES.words("functions")}
    | {"numpy"}
)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_ALWAYS = re.compile(
    rb"\.numpy\(|^[ \t]*[\w.\[\]'\"]+\.(?:cpu|detach|to|float|half)\(", re.MULTILINE
)
_ESTIMATOR_VERBS = frozenset(name.encode() for name in _LIBRARIES.words("estimator_verbs"))
_PLOT_BASES = frozenset(b"ax axs axes axis fig plt sns pyplot ax1 ax2 axarr".split())


def relevant(module: Module) -> set[Function] | None:
    """Return the functions to walk, None for all."""
    owners = {fn: info for info in module.classes.values() for fn in info.methods.values()}
    functions = [*module.functions.values(), *owners]
    if len(functions) < 4:
        return None
    words = {function: _words(module, function) for function in functions}
    marks = _PLOT_BASES | {
        name.encode()
        for name, meant in module.imports.items()
        if meant.partition(".")[0] in _HEADS
    }
    marks |= _ESTIMATOR_VERBS
    wanted = [fn for fn in functions if marks & words[fn] or _ALWAYS.search(_text(module, fn))]
    names = {function.name.encode() for function in wanted}
    chosen: set[Function] = set()
    waiting = wanted + [fn for fn in functions if names & words[fn]]  # callers: what they give
    by_name: dict[bytes, list[Function]] = {}
    for function in functions:
        by_name.setdefault(function.name.encode(), []).append(function)
    for info in module.classes.values():  # a class stands for its __init__
        if "__init__" in info.methods:
            by_name.setdefault(info.name.encode(), []).append(info.methods["__init__"])
        if "forward" in info.methods:
            by_name.setdefault(info.name.encode(), []).append(info.methods["forward"])
    while waiting:
        function = waiting.pop()
        if function in chosen:
            continue
        chosen.add(function)
        waiting += _setters(owners.get(function), chosen)
        for word in words[function] & by_name.keys():
            waiting += by_name[word]
    return chosen


def _setters(info: ClassInfo | None, chosen: set[Function]) -> list[Function]:
    """Return what sets a class's attributes first."""
    init = info.methods.get("__init__") if info is not None else None
    return [init] if init is not None and init not in chosen else []


def _text(module: Module, function: Function) -> bytes:
    lines = module.source.lines
    first = function.decorator_list[0].lineno if function.decorator_list else function.lineno
    end = function.end_lineno or function.lineno
    stop = lines[end] if end < len(lines) else len(module.source.body)
    return module.source.body[lines[first - 1] : stop]


def _words(module: Module, function: Function) -> frozenset[bytes]:
    return frozenset(_WORD.findall(_text(module, function)))
