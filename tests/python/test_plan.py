"""`ashore.plan` says what `to_numpy` then does (contract N4 asks for the names of its paths)."""

from __future__ import annotations

from typing import Any

import ashore
import numpy as np
import pytest
import torch
from ashore import _core
from checks import address, is_plain_array, refuses
from dlpack_producer import Producer
from hypothesis import given
from hypothesis import strategies as st
from layouts import BUILTIN, ML, behind, layouts


@given(
    array=layouts(BUILTIN + ML),
    copy=st.sampled_from([None, True]),
    order=st.sampled_from(["K", "C"]),
    dtype=st.sampled_from([None, "float64", ">c16"]),
    protocol=st.sampled_from(["ndarray", "__array__", "dlpack"]),
)
def test_n4_the_plan_is_what_happens(
    array: np.ndarray, copy: bool | None, order: str, dtype: str | None, protocol: str
) -> None:
    if behind(array, protocol) is None or (
        array.dtype.name.startswith("complex") and dtype == "float64"
    ):
        return
    x, options = behind(array, protocol), {"copy": copy, "order": order, "dtype": dtype}
    (entry,) = ashore.plan(x, **options).entries
    got: Any = ashore.to_numpy(behind(array, protocol), **options)
    assert entry.shape == got.shape and entry.bytes == got.nbytes
    assert entry.read_only is not got.flags.writeable
    if array.size:
        assert (entry.action == "share") == (address(got) == address(array))
        assert (entry.copied_bytes == 0) == (entry.action == "share")
    assert entry.why and entry.path == ""


def test_n4_the_steps_and_their_names() -> None:
    grad = torch.ones(3, requires_grad=True)
    lazy = torch.ones(2, dtype=torch.complex64).conj()
    for x, options, action, steps in (
        (np.ones(3), {}, "share", ()),
        (grad, {}, "share", ("detach",)),
        (grad, {"dtype": "float64"}, "copy", ("detach", "cast")),
        (lazy, {}, "copy", ("resolve",)),
        (torch.ones(2, 3).t(), {"order": "C"}, "copy", ("reorder",)),
        (np.ones(3, ">f4"), {"dtype": "<f4"}, "copy", ("swap bytes",)),
        (np.ones(3), {"copy": True}, "copy", ()),
        (torch._efficientzerotensor(3), {}, "copy", ()),
        ([1, 2], {}, "new", ()),
        (3.5, {}, "new", ()),
        (np.array(["a"]), {}, "share", ()),
        (np.array(["a"]), {"copy": True}, "copy", ()),
    ):
        (entry,) = ashore.plan(x, **options).entries
        assert (entry.action, entry.steps) == (action, steps)
    assert ashore.plan(torch.ones(1).expand(3)).entries[0].read_only


def test_k2_plans_of_containers_say_where() -> None:
    x = {"a": [torch.ones(2), "text", 3], "b": {"c": np.zeros(4, np.float16)}}
    plan = ashore.plan(x, dtype="float32")
    assert [e.path for e in plan.entries] == ["['a'][0]", "['b']['c']"]
    assert [e.action for e in plan.entries] == ["share", "copy"]
    assert (plan.bytes, plan.copied_bytes, len(plan)) == (8 + 16, 16, 2)
    table = str(plan)
    assert "['b']['c']" in table and "float16 -> float32" in table and "16 B to copy" in table
    assert len(table.splitlines()) == 1 + 2 + 1
    evil = ashore.plan({"line\nbreak\x1b[31m": np.ones(1)})
    assert len(str(evil).splitlines()) == 3 and "\x1b" not in str(evil)
    assert "2 arrays" in repr(plan) and len(ashore.plan([])) == 0


def test_c2_a_plan_moves_nothing_and_locks_nothing() -> None:
    tensor = torch.ones(4)
    x = Producer()
    ashore.plan([tensor, x])
    assert tensor.untyped_storage().resizable() and x.freed == 1
    fetched = ashore.plan(np.ones(3), copy=False).entries[0]
    assert fetched.action == "share"


def test_e2_a_plan_raises_what_the_call_would() -> None:
    for x, options, kind in (
        (torch.ones(3), {"dtype": "f8", "copy": False}, ValueError),
        (torch.eye(2).to_sparse(), {}, TypeError),
        ("text", {}, TypeError),
        ([[1], [2, 3]], {}, ValueError),
        (torch.ones(2, dtype=torch.complex64), {"dtype": "f4"}, TypeError),
    ):
        for call in (ashore.plan, ashore.to_numpy):
            refuses(kind, lambda x=x, o=options, call=call: call(x, **o))


def test_n1_public_names() -> None:
    converter = ashore.TensorConverter
    assert is_plain_array(converter.to_numpy(torch.ones(2)))
    assert converter().to_torch(np.ones(2)).tolist() == [1, 1]
    assert len(converter.tensors_to_numpy(torch.ones(2), np.ones(1))) == 2
    assert ashore.tensors_to_numpy() == ()
    for name in ashore.__all__:
        assert getattr(ashore, name) is not None
    with pytest.raises(AttributeError):
        ashore.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("array", "options", "kernels"),
    [
        (np.ones(3, np.float32), {"copy": True}, "compact copy"),
        (np.ones(3, np.float32), {"dtype": "float64"}, "compact cast"),
        (np.ones(3, np.longdouble), {"dtype": "float64"}, "compact staged cast"),
        (np.ones(3, ">f4"), {"dtype": "<f4"}, "compact swap"),
        (np.ones((40, 50)).T, {"order": "C"}, "transpose copy"),
        (np.ones((40, 50)).T, {"order": "C", "dtype": "float32"}, "transpose cast"),
        (np.ones((3, 40, 50)).transpose(1, 2, 0), {"order": "C"}, "interleave copy"),
        (np.ones((40, 50, 3)).transpose(2, 0, 1), {"order": "C"}, "deinterleave copy"),
        (np.ones((40, 50))[:, ::-1], {"order": "C"}, "reverse copy"),
        (np.ones((40, 50))[:, ::3], {"order": "C"}, "gather copy"),
        (np.ones((40, 50))[:, :7], {"order": "C"}, "rows copy"),
        (np.broadcast_to(np.ones((40, 1)), (40, 50)), {"order": "C"}, "fill copy"),
    ],
)
def test_the_kernels_are_named(array: np.ndarray, options: dict[str, Any], kernels: str) -> None:
    (entry,) = ashore.plan(array, **{"copy": True, **options}).entries
    assert entry.kernels == f"{kernels}, {_core.simd_level()}"
    assert (ashore.to_numpy(array, **options) == array).all()


def test_kernels_are_shown_for_large_copies_alone() -> None:
    large = np.ones((1000, 1000))
    assert "; by transpose copy" in str(ashore.plan(large.T, copy=True, order="C"))
    assert "; by compact" in str(ashore.plan(large, copy=True))
    assert "; by" not in str(ashore.plan(large[:3], copy=True))
    assert ashore.plan(large).entries[0].kernels == ""
