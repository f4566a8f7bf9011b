"""What the families share: the case that they look at, what they find, and edits of expressions."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from ashore.explain.frames import Frame
from ashore.explain.guilty import calls_of, last_name, may_be_module, name_of
from ashore.explain.origins import Origins
from ashore.explain.statement import Statement
from ashore.explain.wordings import Wording

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.ListComp, ast.Tuple)
# Calls of PyTorch that take a list of tensors, and names that losses have.
JOINS = re.compile(r"torch\.(cat|stack|concat|concatenate|hstack|vstack|dstack|column_stack)$")
LOSSES = re.compile(
    r"\bcrit(?!ic)|loss|cross_entropy|nll|bce|mse|kl_div|objective|cost", re.IGNORECASE
)


class Case(NamedTuple):
    """One failure: its wording and the pattern's groups, the statement, the frames below it."""

    wording: Wording
    groups: dict[str, str]
    statement: Statement
    frame: Frame
    deeper: tuple[Frame, ...]
    operation: ast.AST | None
    origins: Origins

    @property
    def calls(self) -> list[ast.Call]:
        """The calls of the operation that is known to have failed, else of the statement."""
        if isinstance(self.operation, ast.Call):
            return [self.operation]
        return calls_of(self.statement)


class Found(NamedTuple):
    """The expression that is wrong, the line with its repair, and the rule if not the wording's."""

    expression: str
    repair: str
    rule: str | None = None
    others: tuple[str, ...] = ()


Edit = tuple[ast.AST, str]


def suffixed(case: Case, node: ast.AST, template: str) -> str:
    """Return the expression with the template around it, nothing being done twice."""
    text = case.statement.text(node)
    if "{x}" not in template[:3]:
        return fill(template, text)
    suffix = template[3:]
    if ".detach()" in suffix and re.search(r"\.(detach\(\)|data\b)(?!.*\[)", text):
        suffix = suffix.replace(".detach()", "")
    if suffix == ".detach()" and text.endswith(".cpu()"):
        text, suffix = text[: -len(".cpu()")], ".detach().cpu()"
    if ".cpu()" in suffix and text.endswith((".cpu()", '.to("cpu")', ".to('cpu')")):
        suffix = suffix.replace(".cpu()", "")
    return fill(f"{{x}}{suffix}", text if isinstance(node, _ATOMS) else f"({text})")


def fill(template: str, text: str) -> str:
    """Put an expression into a template."""
    return template.replace("{x}", text)


def found(case: Case, node: ast.AST, edits: list[Edit], rule: str | None = None) -> Found:
    """Return what was found at a node, with the line after the edits."""
    return Found(case.statement.text(node), case.statement.edited(edits), rule)


def wrapped(case: Case, node: ast.AST, rule: str | None = None) -> Found:
    """Return what was found at a node, with the wording's template around it."""
    return found(case, node, [(node, suffixed(case, node, case.wording.repair))], rule)


def is_plain(node: ast.AST) -> bool:
    """Tell whether the expression is no tensor for sure: text, a number, a lambda."""
    if isinstance(node, ast.UnaryOp):
        return is_plain(node.operand)
    if isinstance(node, ast.Tuple | ast.List):
        return all(is_plain(element) for element in node.elts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):  # list("abc")
        if node.func.id in {"float", "int", "len", "str", "range"}:
            return True
        known = node.func.id in {"list", "tuple", "set", "dict", "sorted", "range", "len"}
        return known and all(is_plain(argument) for argument in node.args)
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.Lambda | ast.Slice | ast.Compare)


def arguments(call: ast.Call) -> list[ast.expr]:
    """Return what a call is given that may be a tensor, without stars."""
    given = [*call.args, *(k.value for k in call.keywords if k.arg is not None)]
    given = [arg.value if isinstance(arg, ast.Starred) else arg for arg in given]
    return [arg for arg in given if not is_plain(arg)]


def device_of_model(case: Case, call: ast.Call) -> str:
    """Return an expression for the device of the model that a call calls."""
    if case.origins.has_device:
        return "device"
    name = name_of(call)
    if isinstance(call.func, ast.Call):
        return "device"
    owner = name.split(".")[0]
    if owner == "self" and case.frame.function == "forward":
        return "next(self.parameters()).device"
    if last_name(call) in {"forward", "encode", "generate", "predict", "embed"} and "." in name:
        name = name.rpartition(".")[0]
    return f"next({name}.parameters()).device"


def is_module_call(call: ast.Call) -> bool:
    """Tell a call of a model from one of a function or method of PyTorch."""
    name = name_of(call)
    return may_be_module(call) and not (
        re.match(r"(F|nn\.functional|torch)\.", name) or LOSSES.search(name)
    )


def atom(case: Case, node: ast.AST) -> str:
    """Return the text of an expression, in brackets if a suffix would bind to a part of it."""
    text = case.statement.text(node)
    return text if isinstance(node, _ATOMS) else f"({text})"
