"""Which operation of a statement failed: the marked one, or the one that the next frames tell of.

The rule that matters: if the frame after the user's is PyTorch's `__array__`, or there is none, the
innermost call of NumPy is guilty; if it is a Python function, the call with that name is.
"""

from __future__ import annotations

import ast
import re

from ashore.explain.frames import Frame
from ashore.explain.statement import Statement, marked_nodes

NUMPY = re.compile(r"^(np|numpy|jnp|onp|_np)\.")
LIBRARY = re.compile(
    r"^(np|numpy|onp|plt|pyplot|pylab|ax\d?|axs|axes|axis|ax_\w+|\w+_ax|fig|sns|seaborn|scipy|sp|stats|signal|ndimage|linalg|"
    r"interpolate|metrics|sklearn|skm|pd|pandas|cv2?|Image|PIL|imageio|librosa|sf|soundfile|skimage|wandb|mpl|matplotlib)"
    r"(\[.*?\])*\."
)
_SINK_NAMES = re.compile(
    r"(_score|_report|_matrix|_curve|_error|_loss_np)$|^(fit|fit_transform|transform|predict|predict_proba|score|plot|"
    r"scatter|bar|hist|imshow|DataFrame|Series|imwrite|imsave|savemat|fromarray)$"
)
_READS = {"__array__", "numpy", "__array_wrap__", "__array_prepare__"}
_WRAPPERS = re.compile(
    r"^(_.*|wrapper\w*|inner\w*|wrapped\w*|decorate_\w+|<\w+>|call|invoke|new_func|func|f|fn|dispatcher)$"
)
_MODULE_CALLS = {"__call__", "_wrapped_call_impl", "_call_impl", "_call", "result", "forward"}

_FUNCTIONS = re.compile(r"(torch|F|nn\.functional|np|plt|math|os|time)\.")
_NOT_MODULES = frozenset(
    """print len range float int str list tuple dict zip enumerate sum max min abs round map append
    extend update add to cuda cpu detach item view reshape permute transpose unsqueeze squeeze mean
    std backward step zero_grad numpy size dim long half double type expand repeat flatten format
    join split get items keys values pop isinstance getattr setattr super sorted set open write sqrt
    exp log gather scatter scatter_ scatter_add_ index_select index_add_ matmul mm bmm mv dot sub
    mul div add_ sub_ mul_ div_ copy_ masked_fill masked_fill_ masked_select where lerp baddbmm
    addmm eq ne lt le gt ge""".split()
)

Operation = ast.AST


def name_of(node: ast.AST) -> str:
    """Return the dotted text of what a call calls."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def last_name(node: ast.AST) -> str:
    """Return the last part of what a call calls."""
    return name_of(node).rpartition(".")[2]


def inside(node: ast.AST) -> set[ast.AST]:
    """Return what lies in a node, without itself."""
    return set(ast.walk(node)) - {node}


def calls_of(statement: Statement) -> list[ast.Call]:
    """Return the calls of the statement, outer ones before those in them."""
    return [node for node in statement.nodes() if isinstance(node, ast.Call)]


def operation(statement: Statement, frame: Frame, deeper: tuple[Frame, ...]) -> Operation | None:
    """Return the operation that is marked, or that the deeper frames name, or None."""
    if frame.marks is not None:
        marked = marked_nodes(statement, frame.marks)
        if marked:
            # A call whose marks reach over it all; `x` of `(x)` has the same place as nothing else.
            return next((n for n in marked if not isinstance(n, ast.Expr)), marked[0])
    calls = calls_of(statement)
    if not deeper:
        return None
    first = deeper[0].function
    if first in _READS:
        return None
    if first == "__init__":
        named = [call for call in calls if last_name(call)[:1].isupper()]
        return _innermost(named) if named else None
    if first in _MODULE_CALLS:
        return _module_call(statement, calls)
    for name in [d.function for d in deeper]:
        if name in _READS:
            break
        named = [call for call in calls if last_name(call) == name]
        if named:
            return named[0] if len(named) == 1 else _innermost(named)
        if not _WRAPPERS.match(name):
            break
    return None


def called_by_array(deeper: tuple[Frame, ...]) -> bool:
    """Tell whether C code of NumPy asked the tensor for an array, or nothing is known."""
    return not deeper or deeper[0].function in _READS


def library_calls(calls: list[ast.Call]) -> list[ast.Call]:
    """Return the calls of NumPy and the like that have no other such call in them."""
    known = [c for c in calls if LIBRARY.match(name_of(c)) or _SINK_NAMES.search(last_name(c))]
    return [c for c in known if not any(other in inside(c) for other in known)]


def _innermost(calls: list[ast.Call]) -> ast.Call:
    return next(c for c in calls if not any(other in inside(c) for other in calls))


def _module_call(statement: Statement, calls: list[ast.Call]) -> ast.Call | None:
    """Return the call of a module: of a name that is no method of torch, no builtin, no class."""
    likely = [call for call in calls if may_be_module(call)]
    return _innermost(likely) if likely else None


def may_be_module(call: ast.Call) -> bool:
    """Tell whether a call may be one of a model rather than of a function or method."""
    name = name_of(call)
    last = last_name(call)
    if not (call.args or call.keywords) or _FUNCTIONS.match(name):
        return False
    if isinstance(call.func, ast.Call):  # nn.Linear(3, 3)(x)
        return True
    return last not in _NOT_MODULES and not last[:1].isupper() and not name.startswith("torch.")
