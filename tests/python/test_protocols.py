"""Contract N8, E2, E3, E4: objects that speak a protocol, and what goes wrong in them."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import ashore
import numpy as np
import pytest
from checks import address, assert_same, refuses
from dlpack_producer import Producer
from layouts import WithArray

THREE = np.arange(3, dtype=np.float32)
CONVERTERS = [ashore.to_numpy, ashore.to_torch, ashore.plan]


class Mixed:
    """An object that has several protocols, each of which gives another number."""

    def __init__(self, *protocols: str) -> None:
        self.protocols = protocols

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dict__.get("protocols", ()):
            raise AttributeError(name)
        producer = Producer(np.full(1, 2.0))
        return {
            "__cuda_array_interface__": {"shape": (1,), "typestr": "<f4", "data": (16, False)},
            "__dlpack__": producer.__dlpack__,
            "__dlpack_device__": producer.__dlpack_device__,
            "__array__": lambda *_: np.full(1, 3.0),
            "__array_interface__": np.full(1, 4.0).__array_interface__,
        }[name]


def test_n8_protocols_are_asked_in_order() -> None:
    names = ["__dlpack__", "__dlpack_device__", "__array__", "__array_interface__"]
    refuses(
        RuntimeError, lambda: ashore.to_numpy(Mixed("__cuda_array_interface__", *names)), "CUDA"
    )
    assert ashore.to_numpy(Mixed(*names)) == 2
    assert ashore.to_numpy(Mixed(*names[2:])) == 3
    data = np.full(1, 4.0)
    assert ashore.to_numpy(SimpleNamespace(__array_interface__=data.__array_interface__)) == 4


def test_n8_a_protocol_that_is_none_is_absent() -> None:
    for name in ("__cuda_array_interface__", "__dlpack__", "__array__", "__array_interface__"):
        refuses(TypeError, lambda name=name: ashore.to_numpy(SimpleNamespace(**{name: None})))
        buffer = type("Buffer", (bytearray,), {name: None})(b"ab")
        assert ashore.to_numpy(buffer).tolist() == [97, 98]


class Generation1(WithArray):
    def __array__(self) -> np.ndarray:  # type: ignore[override]
        return self.array


class Generation2(WithArray):
    def __array__(self, dtype: Any = None) -> np.ndarray:  # type: ignore[override]
        return self.array


@pytest.mark.parametrize("kind", [Generation1, Generation2, WithArray])
def test_n8_array_of_any_generation(kind: type[WithArray]) -> None:
    x = kind(THREE)
    assert ashore.to_numpy(x).ctypes.data == address(THREE)
    own = ashore.to_numpy(x, copy=True)
    assert_same(own, THREE)
    assert address(own) != address(THREE) and own.flags.writeable
    assert_same(ashore.to_numpy(x, dtype="float64"), THREE.astype("float64"))
    assert ashore.to_torch(x).data_ptr() == address(THREE)
    if kind is WithArray:
        assert address(ashore.to_numpy(x, copy=False)) == address(THREE)
    else:
        refuses(ValueError, lambda: ashore.to_numpy(x, copy=False), "copy")


def test_n8_array_that_gives_none() -> None:
    for given in (None, [1.0], 3, np.float32(1), "text"):
        x = WithArray(given)  # type: ignore[arg-type]
        for convert in CONVERTERS:
            refuses(TypeError, lambda x=x, convert=convert: convert(x), "WithArray", "__array__")
    refuses(TypeError, lambda: ashore.to_numpy(WithArray(np.ma.array([1], mask=[1]))), "filled")
    refuses(TypeError, lambda: ashore.to_numpy(WithArray(np.array([None]))), "object")


class Broken:
    """Raise from one protocol, and count how often it is asked."""

    def __init__(self, protocol: str, error: BaseException) -> None:
        self.protocol, self.error, self.asked = protocol, error, 0

    def fail(self) -> Any:
        self.asked += 1
        raise self.error

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.answer("__cuda_array_interface__")

    def answer(self, name: str) -> Any:
        if self.protocol != name:
            raise AttributeError(name)
        return self.fail()

    @property
    def __dlpack__(self) -> Any:
        if self.protocol == "__dlpack__":
            return lambda **_: self.fail()
        raise AttributeError

    def __dlpack_device__(self) -> Any:
        return 1, 0

    @property
    def __array__(self) -> Any:
        if self.protocol == "__array__":
            return lambda *_, **__: self.fail()
        raise AttributeError

    @property
    def __array_interface__(self) -> Any:
        return self.answer("__array_interface__")


PROTOCOLS = ["__cuda_array_interface__", "__dlpack__", "__array__", "__array_interface__"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("copy", [None, True, False])
def test_e3_errors_of_producers_pass_through(protocol: str, copy: bool | None) -> None:
    for error in (
        ZeroDivisionError("mine"),
        TypeError("unexpected keyword argument 'max_version' in my own code"),
        TypeError("got an unexpected keyword argument 'copy'"),
        TypeError(),
        KeyboardInterrupt(),
        MemoryError("mine"),
    ):
        x = Broken(protocol, error)
        with pytest.raises(type(error)) as caught:
            ashore.to_numpy(x, copy=copy)
        assert caught.value is error and x.asked == 1
        x = Broken(protocol, error)
        with pytest.raises(type(error)) as caught:
            ashore.to_torch([{"x": x}], copy=copy)
        assert caught.value is error and x.asked == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_e3_buffer_error_becomes_type_error(protocol: str) -> None:
    x = Broken(protocol, BufferError("cannot\nexport"))
    refuses(TypeError, lambda: ashore.to_numpy(x), "Broken", "cannot export")
    assert x.asked == 1
    if protocol in ("__dlpack__", "__array__"):
        for error in (BufferError("no"), ValueError("no")):
            x = Broken(protocol, error)
            refuses(ValueError, lambda x=x: ashore.to_numpy(x, copy=False), "copy", "no")
            assert x.asked == 1


def test_n9_signatures_that_take_less_are_honoured() -> None:
    seen: list[dict[str, Any]] = []

    class Old(Producer):
        def __dlpack__(self) -> Any:  # type: ignore[override]
            seen.append({})
            return super().__dlpack__()

    class Streamed(Producer):
        def __dlpack__(self, *, stream: Any = None) -> Any:  # type: ignore[override]
            seen.append({"stream": stream})
            return super().__dlpack__()

    class NoCopy(Producer):
        def __dlpack__(self, *, max_version: Any = None) -> Any:  # type: ignore[override]
            seen.append({"max_version": max_version})
            return super().__dlpack__()

    class Wrapped(Old):
        @functools.wraps(Old.__dlpack__)
        def __dlpack__(self, *args: Any, **keywords: Any) -> Any:
            return Old.__dlpack__(self, *args, **keywords)

    for kind, want in (
        (Old, {}),
        (Streamed, {"stream": None}),
        (NoCopy, {"max_version": (1, 1)}),
        (Wrapped, {}),
    ):
        for copy in (None, True, False):
            x = kind(versioned=False)
            assert_same(ashore.to_numpy(x, copy=copy), x.array)
            assert x.asked == 1 and [list(s) for s in seen] == [list(want)]
            seen.clear()
    modern = Producer()
    ashore.to_numpy(modern)
    assert modern.keywords is not None and modern.keywords["max_version"][0] == 1
    assert set(modern.keywords) == {"max_version"}
    ashore.to_numpy(modern, copy=False)
    assert modern.keywords["copy"] is False


def test_n9_what_is_no_capsule() -> None:
    class Gives(Producer):
        gives: Any = None

        def __dlpack__(self, **_: Any) -> Any:
            return self.gives

    used = Producer().__dlpack__()
    ashore.to_numpy(SimpleNamespace(__dlpack__=lambda **_: used, __dlpack_device__=lambda: (1, 0)))
    for given in (None, 3, "capsule", used, Producer(name=b"other").__dlpack__()):
        x = Gives()
        x.gives = given
        refuses(TypeError, lambda x=x: ashore.to_numpy(x), "capsule")


def test_n9_devices_that_are_none() -> None:
    for device in (None, 1, (), (1,), (1, 0, 0), ("cpu", 0), (1.0, 0), (2**40, 0), (1, 2**70)):
        x = Producer()
        x.__dict__["__dlpack_device__"] = lambda device=device: device
        refuses(TypeError, lambda x=x: ashore.to_numpy(x), "__dlpack_device__", "Producer")
        assert x.asked == 0
    half = SimpleNamespace(__dlpack__=Producer().__dlpack__)
    refuses(TypeError, lambda: ashore.to_numpy(half), "__dlpack_device__")
