"""Contract C1, C2, N8: arrays of JAX, pandas and PIL, and NumPy's older kin."""

from __future__ import annotations

from typing import Any

import ashore
import ml_dtypes
import numpy as np
import pytest
import torch
from checks import address, assert_same, is_plain_array, refuses


def test_c2_jax_arrays_are_never_written_to() -> None:
    jnp = pytest.importorskip("jax.numpy", reason="about JAX")
    x = jnp.arange(4.0)
    for out in (ashore.to_numpy(x), ashore.to_numpy(x, copy=False), ashore.to_numpy({"x": x})["x"]):
        assert out.tolist() == [0, 1, 2, 3] and not out.flags.writeable
        assert address(out) == x.unsafe_buffer_pointer()
        with pytest.raises(ValueError):
            out[0] = 9
    own = ashore.to_numpy(x, copy=True)
    own[0] = 9
    tensor = ashore.to_torch(x)
    tensor[0] = 9
    assert x.tolist() == [0, 1, 2, 3]
    refuses(ValueError, lambda: ashore.to_torch(x, copy=False), "copy", "read-only")


def test_n8_jax_dtypes_and_layouts() -> None:
    jax = pytest.importorskip("jax", reason="about JAX")
    jnp = jax.numpy
    for name in ("float32", "float16", "bool", "int8", "uint16", "complex64"):
        out = ashore.to_numpy(jnp.ones((2, 3), name))
        assert_same(out, np.ones((2, 3), name))
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"):
        x = jnp.ones(3, name)
        assert ashore.to_numpy(x).dtype == getattr(ml_dtypes, name)
        assert ashore.to_torch(x).dtype == getattr(torch, name)
    for shape in ((), (0, 3), (1, 1)):
        assert ashore.to_numpy(jnp.ones(shape)).shape == shape
    refuses(TypeError, lambda: ashore.to_numpy(jnp.ones(2, "float4_e2m1fn")), "float4_e2m1fn")
    seen = []

    def traced(x: Any) -> Any:
        seen.append(refuses(TypeError, lambda: ashore.to_numpy(x), "Tracer"))
        return x.sum()

    jax.jit(traced)(jnp.ones(2))
    jax.grad(traced)(jnp.ones(2))
    jax.vmap(traced)(jnp.ones((2, 2)))
    assert len(seen) == 3


def test_n8_pandas() -> None:
    pd = pytest.importorskip("pandas", reason="about pandas")
    series, frame = pd.Series([1.0, 2.0]), pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    assert ashore.to_numpy(pd.Index([1, 2])).tolist() == [1, 2]
    for x, want in ((series, [1, 2]), (frame, [[1, 3], [2, 4]])):
        out = ashore.to_numpy(x)
        assert is_plain_array(out) and out.tolist() == want
        own = ashore.to_numpy(x, copy=True)
        own += 1
        tensor = ashore.to_torch(x)
        tensor += 1
        assert np.asarray(x).tolist() == want  # copy-on-write: nobody else's memory is written
    assert address(ashore.to_numpy(frame)) == address(frame.to_numpy())
    mixed = pd.DataFrame({"a": [1], "b": [2.5]})
    assert ashore.to_numpy(mixed).tolist() == [[1, 2.5]]
    refuses(ValueError, lambda: ashore.to_numpy(mixed, copy=False), "copy")
    assert ashore.to_numpy(pd.array([1, 2])).dtype == np.int64
    assert ashore.to_numpy(pd.Series(pd.to_datetime(["2020"]))).dtype.kind == "M"
    for x in (
        pd.Series(["a", "b"]),
        pd.Series([True, None], dtype="boolean"),
        pd.DataFrame({"a": [1], "b": ["x"]}),
        pd.Categorical(["a"]),
        pd.MultiIndex.from_tuples([(1, 2)]),
    ):
        for convert in (ashore.to_numpy, ashore.to_torch):
            refuses(TypeError, lambda x=x, convert=convert: convert(x), "object", "dtype")
    for x in (pd.Timestamp("2020"), pd.NA, pd.NaT):
        refuses(TypeError, lambda x=x: ashore.to_numpy(x))
    batch = ashore.to_numpy({"x": series, "y": [frame, "text"]})
    assert is_plain_array(batch["x"]) and is_plain_array(batch["y"][0])


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "1", "P", "I", "F", "I;16", "CMYK", "LA"])
def test_n8_pil(mode: str) -> None:
    image = pytest.importorskip("PIL.Image", reason="about PIL")
    picture = image.new(mode, (4, 3), 1)
    want = np.asarray(picture)
    out = ashore.to_numpy(picture)
    assert_same(out, want)
    assert not out.flags.writeable and ashore.to_numpy(picture, copy=True).flags.writeable
    assert ashore.to_torch(picture).tolist() == want.tolist()
    if mode in ("RGB", "RGBA"):
        assert (ashore.to_image(picture, layout="HWC") == want).all()
        back = image.fromarray(ashore.to_image(ashore.to_torch(picture), layout="HWC"))
        assert np.asarray(back).tolist() == want.tolist()


def test_n1_older_kinds_of_numpy_arrays() -> None:
    matrix = np.array([[1.0, 2.0]]).view(np.matrix)
    out = ashore.to_numpy(matrix)
    assert is_plain_array(out) and address(out) == address(matrix) and (out * out).shape == (1, 2)
    records = np.rec.array([(1, 2.0)], dtype="i4,f8")
    out = ashore.to_numpy(records)
    assert is_plain_array(out) and out.dtype == records.dtype
    assert ashore.to_numpy(records.f1).tolist() == [2.0]
    chars = np.char.array(["a", "b"])
    assert is_plain_array(ashore.to_numpy(chars))
    assert ashore.to_torch(matrix).tolist() == [[1, 2]]

    class Loud(np.ndarray):
        def __array_finalize__(self, obj: Any) -> None:
            if getattr(self, "armed", False):
                raise RuntimeError("do not touch")

        def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("do not touch")

        def __array_function__(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("do not touch")

        def astype(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("do not touch")

    loud = np.arange(3.0).view(Loud)
    loud.armed = True
    for out in (ashore.to_numpy(loud), ashore.to_numpy(loud, copy=True)):
        assert is_plain_array(out) and out.tolist() == [0, 1, 2]
    assert ashore.to_numpy(loud, dtype="f2").dtype == np.float16
    assert ashore.to_torch(loud).tolist() == [0, 1, 2]
