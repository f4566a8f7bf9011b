"""Write operators.inc from the native_functions.yaml that PyTorch's wheel brings: one row for each
operator with a real kernel of CUDA's family, and what its generated CUDA wrapper would do.

    python generate_operators.py TORCH_ROOT OUTPUT_FOLDER

Called by the build. A row is {name, keys, device_check, structured, composite, wrapper, generic}:
keys are the bits of KEYS, device_check tells whether the wrapper compares devices, structured
whether the operator has a Meta kernel that does, composite whether there is a kernel for all
backends too, wrapper is the name that messages give, generic what it ends with for other keys.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from generate_rules import write_rules

KEYS = {"CUDA": 1, "SparseCUDA": 2, "SparseCsrCUDA": 4, "QuantizedCUDA": 8, "NestedTensorCUDA": 16}


class Operator(NamedTuple):
    """One row of operators.inc."""

    name: str
    keys: int
    device_check: bool
    structured: bool
    composite: bool
    wrapper: str
    generic: str

    def __str__(self) -> str:
        flags = ", ".join(
            "true" if flag else "false"
            for flag in (self.device_check, self.structured, self.composite)
        )
        return (
            f'{{"aten::{self.name}", {self.keys}, {flags}, "{self.wrapper}", "{self.generic}"}},\n'
        )


def operators(packaged: Path) -> Iterator[Operator]:
    """Yield the operators that CUDA's family has kernels for."""
    from torchgen.gen import get_grouped_native_functions, parse_native_yaml
    from torchgen.model import DispatchKey, NativeFunctionsGroup

    native = packaged / "ATen" / "native"
    parsed = parse_native_yaml(str(native / "native_functions.yaml"), str(native / "tags.yaml"))
    indices = {bit: parsed.backend_indices[DispatchKey[key]] for key, bit in KEYS.items()}
    for group in get_grouped_native_functions(parsed.native_functions):
        is_group = isinstance(group, NativeFunctionsGroup)
        structured = is_group and group.structured
        for function in group.functions() if is_group else [group]:
            # A structured group names its kernel at the out= variant; the others go through that.
            owners = [function, group.out] if structured else [function]
            keys = sum(
                bit
                for bit, index in indices.items()
                if any(index.has_kernel(owner) for owner in owners)
            )
            if keys:
                yield _operator(function, keys, structured)


def _operator(function: Any, keys: int, structured: bool) -> Operator:
    from torchgen.api import dispatcher, native
    from torchgen.model import DeviceCheckType

    schema = function.func
    generic = f"{schema.name.overload_name}_{dispatcher.name(schema)}"
    # Structured ones are named after the native function, for CUDA alone.
    wrapper = f"wrapper_CUDA_{native.name(schema) if structured else generic}"
    composite = (
        function.has_composite_implicit_autograd_kernel
        or function.has_composite_implicit_autograd_nested_tensor_kernel
        or function.has_composite_explicit_autograd_kernel
        or function.has_composite_explicit_autograd_non_functional_kernel
    )
    checked = function.device_check != DeviceCheckType.NoCheck
    return Operator(str(schema.name), keys, checked, structured, composite, wrapper, generic)


def write_operators(packaged: Path, output: Path) -> None:
    """Write operators.inc."""
    rows = sorted(operators(packaged))
    if not rows:
        raise SystemExit(f"error: {packaged} lists no CUDA operators")
    with (output / "operators.inc").open("w") as file:
        file.writelines(map(str, rows))


# Every table that the C++ sources include: a function from what torchgen packaged and the folder
# to write to.
TABLES = [write_operators, write_rules]


def main(torch_root: Path, output: Path) -> None:
    """Write all tables for the PyTorch in `torch_root`."""
    sys.path.insert(0, str(torch_root.parent))  # its torchgen, whatever else there is
    import torchgen

    packaged = Path(torchgen.__file__).parent / "packaged"
    for write in TABLES:
        write(packaged, output)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
