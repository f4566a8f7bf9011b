"""Torch's functions that are given arrays while a program is recorded."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ashore.fix.record import torch_calls

torch = pytest.importorskip("torch")


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    monkeypatch.setattr(torch_calls, "_record", lambda recorder, value, *rest: found.append(value))
    return found


def watched(function: Any) -> Any:
    watch = SimpleNamespace(array_type=np.ndarray)
    recorder: Any = SimpleNamespace(busy=False, at_work=nullcontext, watch=watch)
    return torch_calls.taking_arrays(recorder, function)


def test_an_array_is_taken_and_recorded(recorded: list[Any]) -> None:
    array = np.array([-1.0, 2.0])
    assert watched(torch.relu)(array).tolist() == [0.0, 2.0]
    assert len(recorded) == 1 and recorded[0] is array


@pytest.mark.parametrize("array", [np.array(["a"]), np.ones(3)[::-1], np.ones((2, 3))])
def test_where_tensors_do_not_help_the_error_is_the_programs(
    array: np.ndarray[Any, Any], recorded: list[Any]
) -> None:
    with pytest.raises(TypeError) as own:
        torch.mm(torch.ones(2, 2), array[None])
    with pytest.raises(TypeError) as met:
        watched(torch.mm)(torch.ones(2, 2), array[None])
    assert str(met.value) == str(own.value) and not recorded
