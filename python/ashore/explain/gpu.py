"""Families of the GPU itself, and of statements as a whole."""

from __future__ import annotations

import ast
import re

from ashore.explain.guilty import last_name, name_of
from ashore.explain.repair import Case, Found, arguments, found, wrapped


def cuda(case: Case) -> Found | None:
    """A GPU is asked for where there is none."""
    choice = case.wording.repair
    for call in case.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "cuda":
            base = case.statement.text(call.func.value)
            return found(case, call, [(call, f"{base}.to({choice})")])
    for node in case.statement.nodes():
        if isinstance(node, ast.Constant) and str(node.value).startswith("cuda"):
            return found(case, node, [(node, choice)])
    for call in case.calls:
        if name_of(call).startswith("torch.cuda."):
            line = f"if torch.cuda.is_available(): {case.statement.edited([])}"
            return Found(case.statement.text(call), line)
    for call in case.calls:
        if last_name(call) == "to" and call.args:
            name = case.statement.text(call.args[0])
            return Found(name, f"{name} = {choice}" if name.isidentifier() else choice)
    for node in case.statement.nodes():
        if isinstance(node, ast.keyword) and node.arg == "device":
            name = case.statement.text(node.value)
            return Found(name, f"{name} = {choice}" if name.isidentifier() else choice)
    return None


def load(case: Case) -> Found | None:
    """A file with tensors of a GPU is read where there is none."""
    calls = [c for c in case.calls if re.search(r"(^|\.)load\w*$", name_of(c)) and c.args]
    for call in [c for c in calls if name_of(c) == "torch.load"] or calls:
        kept = [k for k in call.keywords if k.arg == "map_location"]
        if kept:
            return found(case, kept[0].value, [(kept[0].value, '"cpu"')])
        text = case.statement.text(call)
        inside = text[:-1].rstrip().rstrip(",")
        return found(case, call, [(call, f"{inside}, {case.wording.repair})")])
    return None


def statement(case: Case) -> Found | None:
    """The statement as a whole, with what it changes as the expression."""
    tree = case.statement.tree
    line = case.statement.edited([])
    expression = line
    if isinstance(tree, ast.AugAssign):
        expression = case.statement.text(tree.target)
    elif isinstance(tree, ast.Assign):
        expression = case.statement.text(tree.targets[0])
    elif isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Call):
        called = tree.value.func
        if isinstance(called, ast.Attribute):
            expression = case.statement.text(called.value)
    return Found(expression, case.wording.repair.replace("{line}", line))


def memory(case: Case) -> Found | None:
    """The GPU's memory is used up."""
    line = case.statement.edited([])
    node = case.operation or (case.calls[0] if case.calls else None)
    expression = case.statement.text(node) if isinstance(node, ast.expr) else line
    if re.search(r"\.backward\(|\.step\(|loss", line):
        return Found(expression, "batch_size = batch_size // 2  # fewer activations")
    if isinstance(case.statement.tree, ast.With | ast.For | ast.While | ast.If):
        return Found(expression, "with torch.no_grad():  # around it, where no gradient is needed")
    return Found(expression, case.wording.repair.replace("{line}", line))


def script(case: Case) -> Found | None:
    """The way to run the script again so that the line shown is the one at fault."""
    name = re.split(r"[/\\]", case.frame.file)[-1]
    name = name if name.endswith(".py") else "script.py"
    node = case.operation or (case.calls[0] if case.calls else None)
    text = case.statement.text(node) if isinstance(node, ast.expr) else case.statement.edited([])
    return Found(text, case.wording.repair.replace("{script}", name))


def fork(case: Case) -> Found | None:
    """The start method of processes."""
    calls = case.calls
    loaders = [c for c in calls if last_name(c) == "DataLoader"]
    if loaders:
        inside = case.statement.text(loaders[0])[:-1].rstrip().rstrip(",")
        spawned = f'{inside}, multiprocessing_context="spawn")'
        return found(case, loaders[0], [(loaders[0], spawned)])
    text = case.statement.text(calls[0]) if calls else case.statement.edited([])
    return Found(text, case.wording.repair)


def optimized(case: Case) -> Found | None:
    """What an optimizer is given is no leaf."""
    for call in case.calls:
        nodes = arguments(call)
        if nodes:
            node = nodes[0]
            if isinstance(node, ast.List | ast.Tuple) and node.elts:
                node = node.elts[0]
            return wrapped(case, node)
    return None
