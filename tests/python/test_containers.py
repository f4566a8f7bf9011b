"""Contract K1, K2: containers come back as what they were, with arrays in them."""

from __future__ import annotations

import collections
import dataclasses
import gc
import os
import sys
import time
import types
import unittest.mock
from typing import Any, ClassVar, NamedTuple

import ashore
import numpy as np
import optree
import pytest
import torch
import torch.utils._pytree as pytree
from checks import is_plain_array, refuses
from layouts import WithArray


class Pair(NamedTuple):
    left: Any
    right: Any


class MarkedPair(Pair):
    """A named tuple with attributes of its own."""


class Triple(tuple):
    pass


class Tagged(list):
    def __init__(self, *items: Any, tag: str) -> None:
        super().__init__(items)
        self.tag = tag


class Attributes(dict):
    """The dict whose items are attributes, as half of all projects have one."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


@dataclasses.dataclass
class Output(collections.OrderedDict):
    """What a transformers ModelOutput looks like: an OrderedDict and a dataclass in one."""

    logits: Any = None
    hidden: Any = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                self[field.name] = getattr(self, field.name)

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def __reduce__(self) -> Any:
        made, _, *rest = super().__reduce__()
        return made, tuple(getattr(self, f.name) for f in dataclasses.fields(self)), *rest


@dataclasses.dataclass
class Batch:
    x: Any
    note: str = "note"
    made: int = dataclasses.field(init=False, default=7)
    kind: ClassVar[str] = "batch"


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: Any
    start: dataclasses.InitVar[int]
    made: int = dataclasses.field(init=False, default=3)

    def __post_init__(self, start: int) -> None:
        object.__setattr__(self, "made", start)


T = torch.ones(2)


def test_k1_every_type_comes_back_as_itself() -> None:
    ordered = collections.OrderedDict([("z", T), ("a", [T])])
    default = collections.defaultdict(list, {"k": T})
    marked = MarkedPair(T, 1)
    marked.note = "kept"  # type: ignore[attr-defined]
    triple = Triple((T, T, 1))
    triple.note = "kept"  # type: ignore[attr-defined]
    for x in (
        {"b": T, "a": 1},
        [T, T],
        (T, "x"),
        ordered,
        default,
        Pair(T, "name"),
        marked,
        triple,
        Tagged(T, tag="kept"),
        Attributes(x=T),
        collections.UserDict(x=T),
        collections.UserList([T]),
        collections.Counter({"a": 2}),
        Output(logits=T),
        Batch(T),
        Frozen(T, 5),
        torch.max(torch.ones(2, 2), dim=0),
        torch.nn.utils.rnn.pack_sequence([torch.ones(3)]),
        torch.Size([2, 3]),
    ):
        got: Any = ashore.to_numpy(x)
        assert type(got) is type(x)
        for name in ("note", "tag", "default_factory", "made"):
            if not isinstance(x, Attributes) and hasattr(x, name):
                assert getattr(got, name) == getattr(x, name)
        before, after = optree_leaves(x), optree_leaves(got)
        assert len(before) == len(after)
        for a, b in zip(before, after, strict=True):
            assert (is_plain_array(b) and b.tolist() == a.tolist()) if is_tensor(a) else a is b
        assert isinstance(ashore.to_torch(got), type(x))
    assert list(ashore.to_numpy(ordered)) == ["z", "a"]


def is_tensor(x: Any) -> bool:
    return isinstance(x, torch.Tensor)


def optree_leaves(x: Any) -> list[Any]:
    """Flatten without the code under test."""
    if isinstance(x, dict | collections.UserDict):
        return [leaf for value in x.values() for leaf in optree_leaves(value)]
    if isinstance(x, list | tuple | collections.UserList):
        return [leaf for value in x for leaf in optree_leaves(value)]
    if dataclasses.is_dataclass(x):
        return [leaf for f in dataclasses.fields(x) for leaf in optree_leaves(getattr(x, f.name))]
    return [x]


def test_k1_a_list_of_arrays_is_never_stacked() -> None:
    for x in ([T, T], (T, T), [np.ones(2), np.ones(2)], [WithArray(np.ones(2))] * 2):
        got = ashore.to_numpy(x)
        assert type(got) is type(x) and len(got) == 2 and all(map(is_plain_array, got))


def test_k1_a_subclass_of_dict_is_a_container_first() -> None:
    class Both(dict):
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            raise AssertionError("a dict is no array")

    for box in (lambda x: x, lambda x: [x]):
        got = ashore.to_numpy(box(Both(x=T)))
        got = got[0] if isinstance(got, list) else got
        assert type(got) is Both and is_plain_array(got["x"])


def test_k1_fields_that_a_struct_sequence_hides_stay() -> None:
    stat, now = os.stat("."), time.localtime()
    got = ashore.to_numpy({"stat": stat, "now": now, "x": T})
    assert got["stat"].st_mtime_ns == stat.st_mtime_ns and got["stat"] == stat
    assert got["now"].tm_zone == now.tm_zone


def test_k1_a_dataclass_with_an_array_protocol_is_an_array() -> None:
    @dataclasses.dataclass
    class Image:
        data: Any

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.ones(3)

    assert is_plain_array(ashore.to_numpy(Image(T)))
    assert is_plain_array(ashore.to_numpy([Image(T)])[0])


def test_k1_an_object_is_what_its_type_is() -> None:
    for spec in (dict, list, tuple, collections.UserDict):
        mock = unittest.mock.Mock(spec=spec)  # says that its class is `spec`
        assert ashore.to_numpy({"x": mock})["x"] is mock
        refuses(TypeError, lambda mock=mock: ashore.to_numpy(mock), "Mock")


def test_k1_what_cannot_be_rebuilt_is_named() -> None:
    class Stuck(dict):
        def __copy__(self) -> Any:
            return self

    class Sealed(dict):
        def __setitem__(self, *_: Any) -> None:
            raise RuntimeError("sealed\nfor good")

    class Two(tuple):
        def __new__(cls, a: Any, b: Any) -> Any:
            return super().__new__(cls, (a, b))

    class Changed(list):
        def __copy__(self) -> Any:
            return list(self)

    for x in (Stuck(x=T), Sealed(x=T), Two(T, 1), Changed([T])):
        refuses(TypeError, lambda x=x: ashore.to_numpy(x), type(x).__name__, "rebuilt")
        refuses(TypeError, lambda x=x: ashore.to_torch({"k": [x]}), type(x).__name__)


def test_k1_registered_nodes() -> None:
    class Optree:
        def __init__(self, x: Any) -> None:
            self.x = x

    class Torch(Optree):
        pass

    class Named(Optree):
        pass

    for kind, namespace in (
        (Optree, getattr(optree.registry, "__GLOBAL_NAMESPACE")),
        (Named, "tests of ashore"),
    ):
        optree.register_pytree_node(
            kind,
            lambda node: ([node.x], "meta", None),
            lambda meta, children, kind=kind: kind((meta, *children)),
            namespace=namespace,
        )
    pytree.register_pytree_node(
        Torch, lambda node: ([node.x], "meta"), lambda children, meta: Torch((meta, *children))
    )
    for kind in (Optree, Named, Torch):
        got = ashore.to_numpy({"node": kind(T)})["node"]
        assert type(got) is kind and got.x[0] == "meta" and is_plain_array(got.x[1])
        assert ashore.to_numpy(kind({"deep": [T]})).x[1]["deep"][0].tolist() == [1, 1]
    assert type(ashore.to_numpy(collections.deque([T], maxlen=2))) is collections.deque


def test_k2_leaves_that_are_no_arrays_stay() -> None:
    odd: list[Any] = [
        "text", None, b"bytes", 3, 2.5, 1j, True, np.float64(1), np.int8(2), object(), {1, 2},
        range(2), int, np.dtype("f4"), torch.float32, len, types.SimpleNamespace(a=T),
    ]  # fmt: skip
    got = ashore.to_numpy({"odd": odd, "x": T})
    assert all(a is b for a, b in zip(got["odd"], odd, strict=True))
    assert got["odd"] is not odd
    mixed = ashore.to_numpy([bytearray(b"ab"), memoryview(b"cd"), WithArray(np.ones(1)), "x"])
    assert [is_plain_array(x) for x in mixed] == [True, True, True, False]


def test_k2_the_input_is_not_modified() -> None:
    keys = [("tuple", 1), frozenset([1]), 3, "text", None]
    inner = {key: torch.ones(1) for key in keys}
    x = [inner, (inner,), Batch(inner)]
    before = (list(inner), list(map(id, inner.values())), len(x), id(x[0]))
    got: Any = ashore.to_numpy(x)
    assert (list(inner), list(map(id, inner.values())), len(x), id(x[0])) == before
    assert all(a is b for a, b in zip(got[0], keys, strict=True))
    assert got[0] is got[1][0] is got[2].x  # a container used twice is converted once


def test_k2_sharing_without_end_takes_no_time() -> None:
    start = time.monotonic()
    for make in (
        lambda v: [v, v],
        lambda v: (v, v),
        lambda v: {"a": v, "b": v},
        lambda v: Pair(v, v),
        lambda v: Batch([v, v]),
    ):
        x: Any = T
        for _ in range(99):
            x = make(x)
        ashore.to_numpy(x)
        ashore.plan(x)
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("make", [lambda: [T], dict, collections.UserDict, lambda: Batch(None)])
def test_k2_cycles(make: Any) -> None:
    x = make()
    if isinstance(x, list):
        x.append((x,))
    elif isinstance(x, Batch):
        x.x = [x]
    else:
        x["self"] = [{"deep": x}]
    for convert in (ashore.to_numpy, ashore.to_torch, ashore.plan):
        refuses(ValueError, lambda convert=convert: convert(x), "contains itself")
        refuses(ValueError, lambda convert=convert: convert([T, x]), "contains itself")


def test_k2_nesting() -> None:
    for make in (lambda v: [v], lambda v: {"k": v}, lambda v: Pair(v, 1), collections.UserList):
        x: Any = "leaf"
        for depth in range(1, 202):
            x = make(x) if make is not collections.UserList else collections.UserList([x])
            if depth == 200:
                for leaf in (ashore.to_numpy, ashore.to_torch):
                    assert type(leaf(x)) is type(x)
        refuses(ValueError, lambda x=x: ashore.to_numpy(x), "200")
    deep: Any = T
    for _ in range(100_000):
        deep = [deep]
    refuses(ValueError, lambda: ashore.to_numpy(deep), "200")
    while type(deep) is list:
        deep = deep.pop()


def test_k2_containers_that_change_under_the_walk() -> None:
    class Vandal:
        def __init__(self, victim: Any) -> None:
            self.victim = victim

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            self.victim.clear()
            gc.collect()
            return np.zeros(1)

    for kind in (list, collections.UserList):
        victim: Any = kind()
        victim.extend([Vandal(victim), *(torch.full((1,), float(i)) for i in range(50))])
        got = ashore.to_numpy(victim)
        assert len(got) == 51 and got[50].tolist() == [49]
        assert len(victim) == 0
    for kind in (dict, collections.UserDict):
        room: Any = kind()
        room["bad"] = Vandal(room)
        room.update({i: torch.full((1,), float(i)) for i in range(50)})
        got = ashore.to_numpy(room)
        assert len(got) == 51 and got[49].tolist() == [49]


def test_k2_errors_say_where() -> None:
    class Key:
        def __repr__(self) -> str:
            return "key\nof two lines"

    class Mute:
        def __repr__(self) -> str:
            raise RuntimeError("no name")

    meta = torch.ones(1, device="meta")
    for x, where in (
        ({"batch": [T, meta]}, "in x['batch'][1]"),
        (Batch([{"a": meta}]), "in x.x[0]['a']"),
        (Pair(1, meta), "in x.right"),
        ({Key(): meta}, "in x[key of two lines]"),
        ({Mute(): meta}, "in x[?]"),
    ):
        with pytest.raises(TypeError, match="meta") as caught:
            ashore.to_numpy(x)
        assert caught.value.__notes__ == [where]


def test_k2_refcounts() -> None:
    leaf = "a leaf that is no array, and not interned"
    x = {"a": [T, leaf], "b": (leaf, {"c": Pair(leaf, T)}), "d": Batch(leaf)}
    before = sys.getrefcount(leaf)
    for _ in range(200):
        ashore.to_numpy(x)
        with pytest.raises(TypeError):
            ashore.to_numpy([x, np.array([None])])
    gc.collect()
    assert sys.getrefcount(leaf) == before
