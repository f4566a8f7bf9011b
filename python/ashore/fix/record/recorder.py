"""The recorder of this process: turns a wrong meeting into a note about the user's text."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ashore.fix.record.blame import Spot, arguments, best, leaves, results, spots, stored
from ashore.fix.record.gradients import Gradients
from ashore.fix.record.instrument import RETURNS, Files, Instrumented, place_of
from ashore.fix.record.journal import Journal
from ashore.fix.record.settings import Settings
from ashore.fix.record.watch import TENSOR, Wanted, Watch
from ashore.fix.record.writes import Writes

_MOST_LOOKS = 8  # full searches at one spot; after that a meeting only adds what is cheap to know
_MOST_OUTER = 4
OPERATIONS = (ast.BinOp, ast.Compare, ast.AugAssign)

Note = dict[str, Any]


class Recorder:
    """Hold what is known of this process."""

    def __init__(self, settings: Settings) -> None:
        """Record as the settings say."""
        self.settings = settings
        self.files = Files()
        self.watch = Watch(
            lambda number: self.files.of(number).fills(number),
            lambda number: self.files.of(number).filled(number),
        )
        self.journal = Journal(settings.folder)
        self.writes = Writes(self)
        self.gradients = Gradients(self) if settings.gradients else None
        self.notes: dict[str, Note] = {}
        self._looks: dict[str, int] = {}
        self._written: dict[str, str] = {}
        self._here = threading.local()

    @property
    def busy(self) -> bool:
        """Tell whether the recorder itself is at work in this thread."""
        return getattr(self._here, "busy", False)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Keep the hooks from recording what the recorder does."""
        before, self._here.busy = self.busy, True
        try:
            yield
        finally:
            self._here.busy = before

    def meets_numpy(
        self, tensor: Any, how: str, needs: set[str], operator: str = ""
    ) -> Note | None:
        """Note that NumPy, or something that wants plain values, is given a tensor."""
        with self.at_work():
            spot = next(spots(self.files), None)
            if spot is None:
                return None
            note = self.note_at(spot, how)
            note["needs"] = sorted({*note["needs"], *needs})
            note["grad"] |= bool(tensor.requires_grad)
            key = note["key"]
            looks = self._looks[key] = self._looks.get(key, 0) + 1
            if looks > _MOST_LOOKS and not any(t["list"] for t in note["targets"]):
                self.tell(note)
                return note
            wanted = Wanted(self.watch, tensor)
            if looks > _MOST_LOOKS:
                for target in note["targets"]:
                    self._add_fills(target, tensor, target["container"], needs)
            else:
                self._look(spot, note, wanted, how, needs, operator)
            self.tell(note)
            return note

    def note_at(self, spot: Spot, how: str) -> Note:
        """Return the note of a spot, a new one where there is none."""
        node = spot.node
        at = place_of(node) if node is not None else (spot.frame.f_lineno, 0, 0, 0)
        key = f"{spot.file.path}:{':'.join(map(str, at))}:{how}"
        note = self.notes.get(key)
        if note is None:
            note = self.notes[key] = {
                "key": key,
                "path": spot.file.path,
                "digest": spot.file.digest,
                "at": at,
                "how": how,
                "callee": _callee(node),
                "needs": [],
                "grad": False,
                "hits": 0,
                "inside": _forward(spot),
                "targets": [],
                "outer": [],
            }
        return note

    def _look(
        self, spot: Spot, note: Note, wanted: Wanted, how: str, needs: set[str], operator: str
    ) -> None:
        node = spot.node
        receiver = node.func if isinstance(node, ast.Call) else None
        if how == "numpy" and isinstance(receiver, ast.Attribute) and receiver.attr == "numpy":
            target = self.target(note, spot.file, receiver.value, wanted.value, needs)
            target["receiver"] = True
            self._look_outside(note, wanted, needs)
            return
        for file, found in self._candidates(spot, wanted, operator):
            target = self.target(note, file, found, wanted.value, needs)
            self.fill_in(target, file, found, wanted, needs)
        self._look_outside(note, wanted, needs)

    def _candidates(
        self, spot: Spot, wanted: Wanted, operator: str
    ) -> list[tuple[Instrumented, ast.expr]]:
        """Return the expressions that brought the value to a spot, with their files."""
        file, node = spot.file, spot.node
        if isinstance(node, OPERATIONS):
            return [(file, one) for one in leaves(operands(node)[side(node, operator)])]
        candidates = [*stored(spot), *arguments(node)]
        found = best(file, candidates, wanted) or [
            one for one in candidates if self._is_unsafe(file.numbers[one])
        ]
        if found:
            return [(file, one) for one in found]
        returned = [n for n in self.watch.makers(wanted.value, 0) if self._returned(n)]
        if returned:  # by a function of the user's to the library; the outermost of them
            owner = self.files.of(returned[-1])
            return [(owner, leaf) for leaf in leaves(owner.expression(returned[-1]))]
        if isinstance(node, ast.Call):  # something that the library computed from what was returned
            given = (one for argument in arguments(node) for one in results(file, argument))
            return [(file, one) for one in given if self._is_unsafe(file.numbers[one])]
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.expr):
            return [(file, node.slice)] if self._is_unsafe(file.numbers[node.slice]) else []
        return []

    def _returned(self, number: int) -> bool:
        file = self.files.of(number)
        return isinstance(file.parents.get(file.node(number)), RETURNS)

    def _is_unsafe(self, number: int) -> bool:
        from ashore.fix.record.needs import needs_of

        last = self.watch.last.get(number)
        value = last() if last is not None and not isinstance(last, int) else None
        return isinstance(value, self.watch.tensor_type) and bool(needs_of(value))

    def target(
        self, note: Note, file: Instrumented, node: ast.expr, value: Any, needs: set[str]
    ) -> Note:
        """Return the entry of an expression that has to be converted, a new one if need be."""
        at = place_of(node)
        for known in note["targets"]:
            if (known["path"], known["at"]) == (file.path, at):
                known["needs"] = sorted({*known["needs"], *needs})
                known["scalar"] &= value.ndim == 0
                known["grad"] |= bool(getattr(value, "requires_grad", False))
                return known  # type: ignore[no-any-return]
        number = file.numbers[node]
        target = {
            "path": file.path,
            "digest": file.digest,
            "at": at,
            "needs": sorted(needs),
            "scalar": value.ndim == 0,
            "grad": bool(getattr(value, "requires_grad", False)),
            "receiver": False,
            "list": "",
            "flat": False,
            "fills": [],
            "complete": True,
            "container": 0,
            "mixed": self.watch.mixed(number),
        }
        note["targets"].append(target)
        if number not in self.watch.told:

            def told() -> None:
                target["mixed"] = self.watch.mixed(number)
                self.tell(note)

            self.watch.told[number] = told
        return target

    def fill_in(
        self, target: Note, file: Instrumented, node: ast.expr, wanted: Wanted, needs: set[str]
    ) -> None:
        container = wanted.container(file.numbers[node])
        if container is None:
            return
        target["list"] = type(container).__name__
        elements = list(container.values() if isinstance(container, dict) else container)
        target["flat"] = all(isinstance(one, self.watch.tensor_type) for one in elements[:2000])
        target["container"] = id(container)
        self._add_fills(target, wanted.value, id(container), needs)

    def _add_fills(self, target: Note, value: Any, container: int, needs: set[str]) -> None:
        makers = [n for n in self.watch.makers(value, container) if not self._returned(n)]
        target["complete"] &= bool(makers)
        target["scalar"] &= value.ndim == 0
        target["needs"] = sorted({*target["needs"], *needs})
        for number in makers:
            file = self.files.of(number)
            self.target({"targets": target["fills"]}, file, file.expression(number), value, needs)

    def _look_outside(self, note: Note, wanted: Wanted, needs: set[str]) -> None:
        """Note which calls around handed the value on: the places to edit for a shared helper."""
        if len(note["outer"]) >= _MOST_OUTER:
            return
        around = spots(self.files)
        next(around, None)
        for spot in around:
            if not isinstance(spot.node, ast.Call):
                continue
            found = best(spot.file, arguments(spot.node), wanted)
            for node in found:
                number = spot.file.numbers[node]
                holder: Note = {"targets": note["outer"]}
                target = self.target(holder, spot.file, node, wanted.value, needs)
                target["callee"] = _callee(spot.node)
                target["only_tensors"] = self.watch.kinds.get(number) == TENSOR
                self.fill_in(target, spot.file, node, wanted, needs)
            if found:
                return

    def goes_backward(self) -> None:
        """Note that a gradient is asked for after one may have been cut."""
        for note in self.notes.values():
            if note["grad"] and not note.get("backward"):
                note["backward"] = True
                self.tell(note)

    def tell(self, note: Note) -> None:
        """Write a note if it has changed."""
        state = repr({**note, "hits": 0})
        if "key" in note and self._written.get(note["key"]) != state:
            self._written[note["key"]] = state
            self.journal.write(note)


def operands(node: ast.AST) -> list[ast.expr]:
    """Return the two sides of an operation."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare):
        return [node.left, node.comparators[0]]
    assert isinstance(node, ast.AugAssign)
    return [node.target, node.value]


def side(node: ast.AST, operator: str) -> int:
    """Return on which side the tensor stands whose method of that name was asked."""
    if isinstance(node, ast.Compare):
        return int(bool(operator) and _COMPARED.get(type(node.ops[0]).__name__) != operator)
    return int(operator.startswith("__r"))


_COMPARED = {name: f"__{name.lower()}__" for name in ("Lt", "Gt", "Eq")}
_COMPARED |= {"LtE": "__le__", "GtE": "__ge__", "NotEq": "__ne__"}


def _callee(node: ast.AST | None) -> str:
    if isinstance(node, ast.Call):
        text = ast.unparse(node.func)
        return text if len(text) <= 60 else text[:59] + "…"
    return type(node).__name__


def _forward(spot: Spot) -> str:
    """Return the name of the method where a gradient is made, if the spot is inside one."""
    name = spot.frame.f_code.co_name
    return name if name in ("forward", "training_step") else ""
