"""What infer tells the rules: each place where a value reaches something that may not take it.

Each kind of meeting is one class; a rule names the one that it looks at. (The methods that nobody
uses are not made: that would cost a millisecond for each class at every start.)
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ashore.fix.values import Value

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False, repr=False)
class Context:
    """Say where in the program a meeting is."""

    function: Function | None = None
    class_name: str = ""
    no_grad: bool = False
    gradient: str = ""  # why a gradient must not be cut here, if there is one
    untouchable: str = ""  # why nothing here may be changed


@dataclass(eq=False, repr=False)
class Meeting:
    """Base of all meetings: the node that is reported, and where it is."""

    node: ast.expr | ast.stmt
    context: Context


@dataclass(eq=False, repr=False)
class ToNumpy(Meeting):
    """`receiver.numpy()`."""

    receiver: ast.expr
    value: Value


@dataclass(eq=False, repr=False)
class Argument:
    """One argument of a call, with its keyword if it has one."""

    node: ast.expr
    value: Value
    keyword: str = ""


@dataclass(eq=False, repr=False)
class HostCall(Meeting):
    """A call of something that works in host memory, with what it is given."""

    node: ast.Call
    callee: str  # as written
    name: str  # resolved and without the library's own name: "sqrt", "sklearn.metrics.f1_score"
    arguments: tuple[Argument, ...]


@dataclass(eq=False, repr=False)
class NumpyCall(HostCall):
    """`np.name(…)`."""


@dataclass(eq=False, repr=False)
class PlotCall(HostCall):
    """`ax.plot(…)`."""


@dataclass(eq=False, repr=False)
class LibraryCall(HostCall):
    """`roc_curve(…)`, `estimator.fit(…)`."""


@dataclass(eq=False, repr=False)
class HelperCall(HostCall):
    """A call of a function of the project that hands a parameter to NumPy."""

    reasons: tuple[tuple[int, str], ...] = ()  # (position in arguments, what happens there)


@dataclass(eq=False, repr=False)
class ArrayStore(Meeting):
    """`array[…] = stored`."""

    stored: ast.expr
    value: Value
    element: bool  # one element is stored into, not a row


@dataclass(eq=False, repr=False)
class ArrayIndex(Meeting):
    """`array[index]`."""

    index: ast.expr
    value: Value


@dataclass(eq=False, repr=False)
class ModuleInput(Meeting):
    """`module(array)`."""

    node: ast.Call
    given: ast.expr


@dataclass(eq=False, repr=False)
class Dropped(Meeting):
    """The statement `receiver.method(…)`, whose result nobody takes."""

    node: ast.Expr
    receiver: ast.expr
    method: str
    value: Value


@dataclass(eq=False, repr=False)
class OneSided(Meeting):
    """`x.cpu().numpy() if … else x.numpy()`: one branch moves the tensor, the other does not."""

    node: ast.IfExp
    converting: ast.expr
    bare: ast.expr
