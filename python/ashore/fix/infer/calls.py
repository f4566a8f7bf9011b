"""What a call gives: builtins are asked, then NumPy, torch, methods, the project, libraries."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from ashore.fix.facts import table
from ashore.fix.infer.expressions import attribute_of
from ashore.fix.infer.functions import call_function, is_module_class, parameter_names
from ashore.fix.infer.models import call_module, looks_like_loss, looks_like_model
from ashore.fix.infer.module import dotted
from ashore.fix.infer.of_methods import method_call
from ashore.fix.infer.of_torch import torch_call
from ashore.fix.infer.scope import Run, Scope, handles, key_of
from ashore.fix.meetings import (
    Argument,
    Function,
    HelperCall,
    HostCall,
    LibraryCall,
    NumpyCall,
    PlotCall,
)
from ashore.fix.values import ARRAY, PLAIN, UNKNOWN, Value, element_of, join, tensor

_NUMPY = table("numpy")
_NP_KEEPS_TENSOR = _NUMPY.words("keeps_tensor")
_NP_PLAIN = _NUMPY.words("give_plain")
_NP_SILENT = _NUMPY.words("silent")
_LIBRARIES = table("libraries")
_PLOT_VERBS = _LIBRARIES.words("plot_verbs")
_PLOT_MODULES = _LIBRARIES.words("plot_modules")
_PLOT_BASES = _LIBRARIES.pattern("plot_bases")
_MODULES = _LIBRARIES.words("modules")
_EXCEPTIONS = _LIBRARIES.pattern("exceptions")
_FUNCTIONS = _LIBRARIES.words("functions")
_ESTIMATOR_MODULES = _LIBRARIES.words("estimator_modules")
_ESTIMATOR_METHODS = _LIBRARIES.words("estimator_methods")
_ESTIMATOR_VERBS = _LIBRARIES.words("estimator_verbs")
_PLAIN_BUILTINS = frozenset(
    "len int float str bool print range open repr isinstance round hasattr id type abs".split()
)
_ELEMENTS = ("list", "tuple", "dict")

Keywords = dict[str, Value]


class Given(NamedTuple):
    """Hold a call with what is known of its parts, each valued once."""

    node: ast.Call
    name: str  # of what is called, as written; empty if that is no name
    resolved: str  # as the imports mean it; empty if it is a local value
    args: list[Value]
    keywords: Keywords
    receiver: Value = UNKNOWN

    def arguments(self) -> tuple[Argument, ...]:
        """Return the arguments, but for those behind `**`."""
        given = [Argument(arg, value) for arg, value in zip(self.node.args, self.args, strict=True)]
        for keyword in self.node.keywords:
            if keyword.arg is not None:
                given.append(Argument(keyword.value, self.keywords[keyword.arg], keyword.arg))
        return tuple(given)


@handles(ast.Call)
def _call(scope: Scope, node: ast.Call) -> Value:
    func = node.func
    args = [scope.value_of(arg) for arg in node.args]
    keywords = {keyword.arg or "": scope.value_of(keyword.value) for keyword in node.keywords}
    name = dotted(func)
    head = name.partition(".")[0]
    local = scope.look_up(head) if name else None
    if local is not None and local.kind == "plain" and head in scope.module.imports:
        local = None  # `f = None` where the import failed
    resolved = scope.module.resolve(name) if local is None else ""
    if isinstance(func, ast.Name) and resolved == name:
        made = _builtin(scope, node, name, args, keywords)
        if made is not None:
            return made
    if resolved.endswith("tqdm") and args:
        return args[0]
    if resolved.startswith("numpy."):
        return _numpy_call(scope, Given(node, name, resolved, args, keywords))
    if resolved.startswith("torch."):
        return torch_call(scope, node, resolved[6:], args, keywords)
    given = Given(node, name, resolved, args, keywords)
    if isinstance(func, ast.Attribute):
        given = given._replace(receiver=scope.value_of(func.value))
        made = method_call(scope, node, func, given.receiver, args, keywords)
        if made is not None:
            _host_call(scope, given)
            return made
    return _other_call(scope, given)


def _builtin(
    scope: Scope, node: ast.Call, name: str, args: list[Value], keywords: Keywords
) -> Value | None:
    if name in _PLAIN_BUILTINS:
        return args[0] if name == "abs" and args else PLAIN
    if name in ("list", "tuple", "sorted", "reversed", "set", "iter") and args:
        return args[0] if args[0].kind == "list" else Value("list", element=element_of(args[0]))
    if name in ("list", "set") or name == "deque":
        return Value("list")
    if name in ("dict", "defaultdict", "OrderedDict") and not args:
        joined: Value | None = None
        for value in keywords.values():
            joined = join(joined, value)
        return Value("dict", element=joined)
    if name == "defaultdict":
        return Value("dict", element=Value("list"))
    if name == "zip":
        return Value("pairs", elements=tuple(element_of(value) for value in args))
    if name == "enumerate" and args:
        return Value("pairs", elements=(PLAIN, element_of(args[0])))
    if name == "sum" and args:
        return element_of(args[0])
    if name in ("max", "min") and len(args) == 1:
        return element_of(args[0])
    if name == "next" and args:
        return element_of(args[0])
    if name in ("getattr", "super", "map", "filter"):
        return UNKNOWN
    return None


def _note_parameters(scope: Scope, given: tuple[Argument, ...], callee: str, line: int) -> None:
    """Remember which parameters of this function go to NumPy as they are."""
    if scope.function is None:
        return
    for argument in given:
        value = argument.value
        if value.param and value.kind in ("unknown", "either", "array"):
            handed = scope.run.hands_over.setdefault(scope.function, {})
            handed.setdefault(value.param, f"`{callee}`, line {line}")


def _numpy_call(scope: Scope, given: Given) -> Value:
    node, args = given.node, given.args
    name = given.resolved.removeprefix("numpy.")
    if name not in _NP_SILENT:
        arguments = given.arguments()
        scope.run.meet(NumpyCall(node, scope.context(), given.name, name, arguments))
        _note_parameters(scope, arguments, given.name, node.lineno)
    if name in _NP_PLAIN:
        return PLAIN
    taint = frozenset().union(*(value.taint for value in args))
    if any(_holds_tensor(value) for value in args):
        taint |= {(node.lineno, node.end_col_offset or 0)}
        if name in _NP_KEEPS_TENSOR and args[0].kind in ("tensor", "output"):
            scalar = args[0].scalar
            return tensor("cpu", "no", scalar=scalar, taint=taint)
    if name == "random.default_rng":
        return UNKNOWN
    return ARRAY._replace(taint=taint) if taint else ARRAY


def _holds_tensor(value: Value) -> bool:
    for _ in range(3):
        if value.kind in ("tensor", "output"):
            return True
        if value.kind not in _ELEMENTS:
            return False
        value = element_of(value)
    return False


def _other_call(scope: Scope, given: Given) -> Value:
    node, name, resolved, args, keywords, receiver = given
    func = node.func
    if isinstance(func, ast.Attribute):
        known = attribute_of(scope, func, receiver)
    else:
        known = scope.value_of(func)
    if known.kind == "module":
        return call_module(scope, node, known, args, keywords)
    if resolved:
        made = _project_call(scope, given)
        if made is not None:
            return made
    if _host_call(scope, given):
        return _library_result(resolved)
    head = resolved.partition(".")[0]
    if head in ("transformers", "timm", "torchvision") and (
        resolved.endswith(("from_pretrained", "create_model"))
        or resolved.startswith("torchvision.models.")
    ):
        model = not re.search("okenizer|Processor|Config|Extractor", resolved)
        return Value("module", "cpu") if model else UNKNOWN
    if looks_like_model(scope, func) and not any(value.kind == "array" for value in args):
        return call_module(scope, node, Value("module"), args, keywords)
    if name and looks_like_loss(name):
        on_device = any(value.device == "accelerator" for value in args)
        return tensor(
            "accelerator" if on_device else "unknown",
            "no" if scope.no_grad else "yes",
            scalar=True,
            origin=scope.origin(f"the loss `{name}(…)`", node),
        )
    return UNKNOWN


def _project_call(scope: Scope, given: Given) -> Value | None:
    node, _, resolved, args, keywords, _ = given
    found_class = scope.run.class_of(resolved)
    if found_class is not None:
        run, info = found_class
        if "__init__" in info.methods:
            call_function(scope, (run, info.methods["__init__"]), node, args, keywords)
        is_module = is_module_class(scope.run, resolved)
        class_name = info.name if run is scope.run else resolved
        return Value("module" if is_module else "object", "cpu", class_name=class_name)
    found = scope.run.function_of(resolved)
    if found is None:
        return None
    _helper_call(scope, given, found)
    return call_function(scope, found, node, args, keywords)


def _helper_call(scope: Scope, given: Given, found: tuple[Run, Function]) -> None:
    """Meet a helper that hands a parameter to NumPy, unless it is reported where it does."""
    run, function = found
    run.demand(function)
    handed = run.hands_over.get(function)
    if not handed:
        return
    arguments = given.arguments()
    names = parameter_names(function, method=False)
    reasons = []
    for place, argument in enumerate(arguments):
        parameter = argument.keyword or (names[place] if place < len(names) else "")
        if parameter in handed and (run is not scope.run or _gets_both(run, function, parameter)):
            where = "" if run is scope.run else f" of {run.module.source.path}"
            reasons.append((place, f"{handed[parameter]}{where}"))
    if reasons:
        name = given.name
        scope.run.meet(
            HelperCall(given.node, scope.context(), name, name, arguments, tuple(reasons))
        )


def _gets_both(run: Run, function: Function, parameter: str) -> bool:
    given = run.arguments.get(function, {})
    names = parameter_names(function, method=False)
    place = names.index(parameter) if parameter in names else -1
    value = join(given.get(parameter), given.get(place))
    return value.kind in ("either", "unknown")


def _host_call(scope: Scope, given: Given) -> bool:
    """Meet a call of a library that works in host memory; tell whether it is one."""
    func, resolved = given.node.func, given.resolved
    last = func.attr if isinstance(func, ast.Attribute) else resolved.rpartition(".")[2]
    head = resolved.partition(".")[0]
    kind: type[HostCall]
    if last in _PLOT_VERBS and isinstance(func, ast.Attribute) and _is_plot(func, head):
        kind = PlotCall
    elif _is_library(resolved, head) or _is_fit(scope, func, given.receiver):
        kind = LibraryCall
    else:
        return False
    callee = given.name or ast.unparse(func)
    arguments = given.arguments()
    scope.run.meet(kind(given.node, scope.context(), callee, resolved or callee, arguments))
    _note_parameters(scope, arguments, callee, given.node.lineno)
    return True


def _is_plot(func: ast.Attribute, head: str) -> bool:
    if head in _PLOT_MODULES:
        return True
    base = key_of(func.value) or ast.unparse(func.value)
    return not base.startswith("self.") and _PLOT_BASES.search(base) is not None


def _is_library(resolved: str, head: str) -> bool:
    if head in _MODULES and resolved != head and not _EXCEPTIONS.search(resolved):
        return True
    return resolved in _FUNCTIONS


def _is_fit(scope: Scope, func: ast.expr, receiver: Value) -> bool:
    if not isinstance(func, ast.Attribute) or func.attr not in _ESTIMATOR_METHODS:
        return False
    if receiver.kind == "estimator":
        return True
    imported = bool(scope.module.packages & _ESTIMATOR_MODULES)
    return imported and func.attr in _ESTIMATOR_VERBS


def _library_result(resolved: str) -> Value:
    head = resolved.partition(".")[0]
    if head in _ESTIMATOR_MODULES and resolved.rpartition(".")[2][:1].isupper():
        return Value("estimator")
    if head in ("sklearn", "scipy", "skimage", "cv2"):
        return ARRAY
    return UNKNOWN
