"""Arrays that a tensor gave away: on the CPU both share memory, and what is written to the one
arrives in the other. Under the recorder it does as well, and it is noted that it had to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

if TYPE_CHECKING:
    from ashore.fix.record.recorder import Note, Recorder

_MOST_ELEMENTS = 1_000_000
_MOST_LOOKED_AT_OFTEN = 65_536
_MOST_LIVE = 64
_MOST_LOOKS = 2000


class _Lent:
    """Hold a tensor and the host memory that was lent for it, while the array lives."""

    def __init__(self, tensor: Any, host: Any, note: Note) -> None:
        self.tensor = tensor.detach()
        self.host = host
        self.note = note
        self.before = host.numpy().tobytes()
        self.looks = 0


class Writes:
    """Hold what is lent at present."""

    def __init__(self, recorder: Recorder) -> None:
        """Start with nothing lent."""
        self._recorder = recorder
        self.live: dict[int, tuple[Any, _Lent]] = {}

    def array_of(self, tensor: Any, note: Note | None) -> Any:
        """Return a tensor as an array, whose writes will arrive."""
        from ashore.fix.record.needs import made_safe

        with self._recorder.at_work():
            host = made_safe(tensor)
            array = host.numpy()
            small = host.numel() <= _MOST_ELEMENTS and len(self.live) < _MOST_LIVE
            if note is None or not small or host.dtype != tensor.dtype or note["hits"] > 50:
                return array
            note["hits"] += 1
            lent = _Lent(tensor, host, note)
            key = id(array)

            def given_up(_: Any) -> None:
                if key in self.live:
                    self._arrive(self.live.pop(key)[1])

            self.live[key] = (ref(array, given_up), lent)
            return array

    def arrive(self) -> None:
        """Let what was written to arrays arrive in their tensors."""
        for key, (_, lent) in list(self.live.items()):
            lent.looks += 1
            if lent.looks > _MOST_LOOKS:
                self.live.pop(key, None)
            elif lent.host.numel() <= _MOST_LOOKED_AT_OFTEN:
                self._arrive(lent)

    def _arrive(self, lent: _Lent) -> None:
        with self._recorder.at_work():
            now = lent.host.numpy().tobytes()
            if now == lent.before:
                return
            lent.before = now
            lent.tensor.copy_(lent.host)
            lent.note["written"] = True
            self._recorder.tell(lent.note)
