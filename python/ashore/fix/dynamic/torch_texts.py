"""Changes that are more than a suffix: arrays into modules, wrong devices and dtypes, torch's
functions in the place of NumPy's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ashore.fix.dynamic.notes import Note, Spot
from ashore.fix.sites import Change, Convert, Replace, Wrap
from ashore.fix.source import Source

if TYPE_CHECKING:
    from ashore.fix.dynamic.making import Maker

NO_WORDS = "the program has no name for the device there"
NO_TORCH = "torch is not imported here by its own name"
NO_FUNCTION = "its gradient is needed, and torch's own function takes other arguments"
_JOINING = ("stack", "concatenate", "asarray", "array")
_BARE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)

Found = tuple[Spot, tuple[Change, ...], str]


def torch_changes(maker: Maker, note: Note) -> list[Found] | None:
    """Return the changes for each expression of a note about torch, and why not; or None."""
    moves = note.extra.get("moves")
    if not isinstance(moves, dict):
        return None
    if not note.targets:
        return [(note.spot, (), "what has to be moved was not found in the text")]
    found: list[Found] = []
    for target in note.targets:
        move = moves.get(":".join(map(str, target.spot.at)))
        node = maker.node(target.spot)
        if node is None or not isinstance(move, dict):
            found.append((note.spot, (), "the expression was not found"))
            continue
        source = maker.source(target.spot)
        change, why = _change(source, node, move, bool(target.container))
        found.append((target.spot, (change,) if change else (), why))
    return found


def gradient_changes(maker: Maker, note: Note) -> Found:
    """Return the change that makes an operation torch's."""
    source, node = maker.source(note.spot), maker.node(note.spot)
    how = note.extra.get("torch")
    if node is None or not isinstance(how, dict):
        return note.spot, (), "the expression was not found"
    if not imports_torch(source):
        return note.spot, (), NO_TORCH
    changes: tuple[Change, ...] | None = None
    if "operand" in how:
        first, column, last, end = map(int, how["operand"])
        operand = Spot(note.spot.path, note.spot.digest, (first, column, last, end))
        other = maker.node(operand)
        if other is None or not (_plain(how["device"]) and _plain(how["dtype"]) and how["device"]):
            return note.spot, (), NO_WORDS
        after = f", dtype={how['dtype']}, device={how['device']})"
        return operand, (Wrap(source.span(other), "torch.as_tensor(", after),), ""
    if isinstance(node, ast.Call) and "list" in how:
        changes = _joined(source, node, str(how["list"]))
    elif isinstance(node, ast.Call) and not how.get("arrays") and _plain(str(how["function"])):
        changes = (Replace(source.span(node.func), f"torch.{how['function']}"),)
    return note.spot, changes or (), "" if changes else NO_FUNCTION


def _joined(source: Source, node: ast.Call, name: str) -> tuple[Change, ...] | None:
    """Return the rewriting of NumPy's function of a list of tensors."""
    if len(node.args) != 1 or (node.keywords and name in _JOINING):
        return None
    given = source.text(node.args[0])
    if isinstance(node.args[0], ast.GeneratorExp):
        given = f"[{given.removeprefix('(').removesuffix(')')}]"
    options = ", ".join(
        source.text(k.value) if k.arg is None else f"{k.arg}={source.text(k.value)}"
        for k in node.keywords
    )
    rest = "" if name in _JOINING else f".{name}({options})"
    joined = "cat" if name == "concatenate" else "stack"
    return (Replace(source.span(node), f"torch.{joined}({given}){rest}"),)


def _change(
    source: Source, node: ast.expr, move: dict[str, Any], listed: bool
) -> tuple[Change | None, str]:
    device, dtype = str(move["device"]), str(move["dtype"])
    if not _plain(device) or not _plain(dtype) or (move["moved"] and not device):
        return None, NO_WORDS
    span = source.span(node)
    if (move["array"] or dtype not in ("", "torch.float32")) and not imports_torch(source):
        return None, NO_TORCH
    if move["array"]:
        options = f", dtype={dtype}" if dtype else ""
        options += f", device={device}" if device not in ("", "'cpu'") else ""
        return Wrap(span, "torch.as_tensor(", f"{options})"), ""
    suffix = ".cpu()" if device == "'cpu'" else f".to({device})" if device else ""
    if dtype:
        suffix += ".float()" if dtype == "torch.float32" else f".to({dtype})"
    if listed:
        return Wrap(span, "[t" + suffix + " for t in ", "]"), ""
    if suffix in (".float()", ".cpu()"):
        return Convert(span, frozenset({suffix[1:-2]})), ""
    before, after = ("", suffix) if isinstance(node, _BARE) else ("(", f"){suffix}")
    return Wrap(span, before, after), ""


def _plain(words: str) -> bool:
    """Tell whether words from a journal are names, dots and plain calls."""
    if words in ("", "'cpu'"):
        return True
    try:
        tree = ast.parse(words, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    kinds = (ast.Name, ast.Attribute, ast.Call, ast.Load, ast.Subscript, ast.Constant)
    return all(isinstance(node, kinds) for node in ast.walk(tree))


def imports_torch(source: Source) -> bool:
    """Tell whether `torch` means torch in a file."""
    return any(
        alias.name.partition(".")[0] == "torch" and not (alias.asname and alias.name == "torch")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    )
