"""What the expressions of the user's files held last, without keeping any of it alive.

Called for nearly every argument that the program passes, so `see` has to be quick.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any
from weakref import ref

TENSOR, OTHER = 1, 2  # what an expression has held; None counts as neither
_CONTAINERS = (list, tuple, dict, set)
_DEEPEST = 3
_MOST_REFERRERS = 10_000


class Watch:
    """Hold weak references to last values, and what kinds of values there were."""

    def __init__(self, fills: Callable[[int], bool], filled: Callable[[int], int | None]) -> None:
        """Start before torch and NumPy are imported.

        `fills` tells whether an expression makes an element, `filled` of which list it does.
        """
        self.tensor_type: Any = ()
        self.array_type: Any = ()
        self.last: dict[int, Any] = {}  # number -> weak reference, or id of a container
        self.kinds: dict[int, int] = {}
        self.told: dict[int, Callable[[], None]] = {}  # called when another kind is seen
        self._fills = fills
        self._filled = filled
        self._filling: dict[int, bool] = {}
        self._makers: dict[int, tuple[Any, dict[tuple[int, int], None]]] = {}  # by id of a tensor

    def see(self, number: int, value: Any) -> Any:
        """Note what an expression holds, and return it."""
        if isinstance(value, self.tensor_type):
            kind = TENSOR
            self.last[number] = ref(value)
            filling = self._filling.get(number)
            if filling is None:
                filling = self._filling[number] = self._fills(number)
            if filling:
                self._note_maker(number, value)
        elif isinstance(value, self.array_type):
            kind = OTHER
            self.last[number] = ref(value)
        elif isinstance(value, _CONTAINERS):
            kind = self._kind_of_container(value)
            self.last[number] = id(value)
        elif value is None:
            return value
        else:
            kind = OTHER
            self.last.pop(number, None)
        known = self.kinds.get(number, 0)
        if not known & kind:
            self.kinds[number] = known | kind
            if number in self.told:
                self.told[number]()
        return value

    def _kind_of_container(self, value: Any) -> int:
        inner = next(iter(value.values() if isinstance(value, dict) else value), None)
        if isinstance(inner, _CONTAINERS) and inner:
            inner = next(iter(inner.values() if isinstance(inner, dict) else inner), None)
        return 0 if inner is None else TENSOR if isinstance(inner, self.tensor_type) else OTHER

    def _note_maker(self, number: int, value: Any) -> None:
        key = id(value)
        at = self._filled(number)
        container = 0 if at is None else self.last.get(at, 0)
        maker = (number, container if isinstance(container, int) else 0)
        known = self._makers.get(key)
        if known is not None and known[0]() is value:
            known[1].pop(maker, None)
            known[1][maker] = None  # the latest is last
        else:
            self._makers[key] = (ref(value, lambda _: self._makers.pop(key, None)), {maker: None})

    def makers(self, value: Any, container: int) -> list[int]:
        """Return what put this very tensor into the container (by its id), or returned it."""
        known = self._makers.get(id(value))
        if known is None or known[0]() is not value:
            return []
        return list({n: None for n, into in known[1] if into in (0, container)})

    def value(self, number: int) -> Any:
        """Return the tensor or array that an expression held last, if it lives."""
        last = self.last.get(number)
        return None if last is None or isinstance(last, int) else last()

    def mixed(self, number: int) -> bool:
        """Tell whether an expression has held tensors and other things."""
        return self.kinds.get(number, 0) == TENSOR | OTHER


class Wanted:
    """A value that was met, and the question which expressions hold it."""

    def __init__(self, watch: Watch, value: Any) -> None:
        """Look for `value`, a tensor or an array."""
        self._watch = watch
        self.value = value
        self._containers: dict[int, Any] | None = None

    def match(self, number: int) -> int:
        """Say how well an expression's last value fits: 3 itself, 2 its memory, 1 holds it, 0."""
        last = self._watch.last.get(number)
        if last is None:
            return 0
        if isinstance(last, int):
            return int(last in self.containers)
        held = last()
        if held is None:
            return 0
        return 3 if held is self.value else 2 * self._same_memory(held)

    def container(self, number: int) -> Any:
        """Return the container that an expression holds, if the value is in it."""
        last = self._watch.last.get(number)
        return self.containers.get(last) if isinstance(last, int) else None

    @property
    def containers(self) -> dict[int, Any]:
        """Return the lists, tuples and dicts that hold the value, and those that hold them."""
        if self._containers is None:
            self._containers = {}
            inner: list[Any] = [self.value]
            for _ in range(_DEEPEST):
                known = set(self._containers)
                found = gc.get_referrers(*inner)
                inner = [one for one in found if type(one) in _CONTAINERS and id(one) not in known][
                    :_MOST_REFERRERS
                ]
                self._containers.update((id(one), one) for one in inner)
                if not inner:
                    break
        return self._containers

    def _same_memory(self, held: Any) -> bool:
        value, tensor, array = self.value, self._watch.tensor_type, self._watch.array_type
        if isinstance(held, tensor) and isinstance(value, tensor):
            try:
                there = held.untyped_storage().data_ptr()
                return bool(there) and there == value.untyped_storage().data_ptr()
            except (RuntimeError, NotImplementedError):  # sparse, meta, functorch
                return False
        if isinstance(held, array) and isinstance(value, array):
            import numpy as np

            return bool(np.may_share_memory(held, value))
        return False
