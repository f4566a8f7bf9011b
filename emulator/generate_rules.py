"""Write C++ tables from tables/*.yaml: what CUDA's kernels refuse, assert, check, wait for and
cannot repeat. Called by generate_operators.py.

A condition in these tables is a short text that rules.cpp evaluates: an argument's name (given,
true or not empty), `!name`, `name.is_cuda`, `name.is_floating`, `name=text`, `name=other` for two
numbers, `masks`: indices that are masks or come from the host, or `compares`: self and other have
elements, as many, and are not the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TABLES = Path(__file__).parent / "tables"

SCALAR_TYPES = {
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "bool": "Bool",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float8_e4m3fn": "Float8_e4m3fn",
}

# The words of the tables that are conditions.
CONDITIONS = {
    "amsgrad": "amsgrad",
    "not amsgrad": "!amsgrad",
    "momentum buffers given": "momentum_buffer_list",
    "no momentum buffers": "!momentum_buffer_list",
    "lr is not on the CPU; a CPU lr is read with item() and the float form is called": "lr.is_cuda",
    "lr on CUDA": "lr.is_cuda",
    "lr on the CPU (float form)": "!lr.is_cuda",
    "bool_indices (nonzero); CPU or Python-list indices (blocking copy)": "masks",
    "bool_indices (nonzero); also CPU indices or a CPU values tensor (blocking copy)": "masks",
    "unless sizes differ, nothing is compared, or both are one tensor": "compares",
    "value is a CUDA tensor (item)": "value.is_cuda",
    "output_size not given": "!output_size",
    "sorter given (range check)": "sorter",
    "min == max (range taken from the data)": "min=max",
    "weights given": "weights",
    "floating-point input (integers are deterministic)": "self.is_floating",
    "mode max": "mode=2",
    "reduce prod (sum, mean, amax, amin do not raise)": "reduce=prod",
    "lengths given and not unsafe": "lengths",
    "as put_": "",
    "accumulate=True or False alike": "",
}
CHECKS = {
    "same_device": "kSameDevice",
    "same_device_or_cpu_scalar": "kSameDeviceOrScalar",
    "same_device_lists": "kSameDeviceLists",
    "is_cuda": "kIsCuda",
    "is_cpu": "kIsCpu",
    "no_cpu_scalar": "kNoCpuScalar",
    "tensor_iterator": "kIterator",
}


# What a row of dtype_gaps.yaml does not say: the operators whose gap has a condition.
GAP_CONDITIONS = {
    "aten::scatter_reduce.two": "!reduce=sum",
    "aten::scatter_reduce_.two": "!reduce=sum",
    "aten::scatter_reduce.two_out": "!reduce=sum",
}

# Functions of the tables that are no kernels, by the kernels behind them.
KERNELS = {
    "aten::linalg_svd": "aten::_linalg_svd",
    "aten::median.dim": "aten::median.dim_values",
    "aten::nanmedian.dim": "aten::nanmedian.dim_values",
}


def quote(text: str) -> str:
    """Return a C++ string literal."""
    return json.dumps(text)


def condition(words: str | None) -> str | None:
    """Return the condition that a table's words mean; None: they mean none that can be tested."""
    if words is None or words.startswith(("always", "3 of 4 argument forms")):
        return ""
    return CONDITIONS.get(words)


def dtype_rows(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield {operator, argument, condition, dtypes, is_not_implemented, message, cpu_message}."""
    for row in rows:
        if row["dtypes"] == "all":
            continue
        types = ", ".join(f"ScalarType::{SCALAR_TYPES[dtype]}" for dtype in row["dtypes"])
        is_not_implemented = "true" if row["error"] == "NotImplementedError" else "false"
        words = f"{quote(row['message'])}, {quote(row.get('cpu_message', ''))}"
        when = quote(GAP_CONDITIONS.get(row["op"], ""))
        yield (
            f"{{{quote(row['op'])}, {quote(row.get('argument', ''))}, {when}, dtypes({{{types}}}), "
            f"{is_not_implemented}, {words}}},\n"
        )


def own_check_rows(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield {operator, kind, arguments, message, condition, always}."""
    for row in rows:
        for check in row["checks"]:
            kind = next(name for name in check if name in (*CHECKS, "per_tensor"))
            when = condition(check.get("only_if"))
            if kind in CHECKS and when is not None:
                yield (
                    f"{{{quote(row['op'])}, Check::{CHECKS[kind]}, {quote(' '.join(check[kind]))}, "
                    f"{quote(check['message'])}, {quote(when)}, "
                    f"{'true' if row.get('always') else 'false'}}},\n"
                )


def named_rows(rows: list[dict[str, Any]], name: str = "") -> Iterator[str]:
    """Yield {operator, condition, name}, or without name."""
    for row in rows:
        when = condition(row["when"])
        if when is not None:
            last = f", {quote(row[name])}" if name else ""
            kernel = KERNELS.get(row["op"], row["op"])
            yield f"{{{quote(kernel)}, {quote(when)}{last}}},\n"


def assert_rows(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield {operator, cpu_words, arguments, harmless, condition, file, function}."""
    for row in rows:
        for op in row["ops"]:
            words = ", ".join(quote(row[key]) for key in ("condition", "file", "function"))
            yield (
                f"{{{quote(op)}, {quote(row['cpu_words'])}, {quote(row['arguments'])}, "
                f"{row['harmless']}, {words}}},\n"
            )


def write_rules(_packaged: Path, output: Path) -> None:
    """Write all tables of rules."""
    import yaml

    def read(name: str) -> dict[str, Any]:
        tables: dict[str, Any] = yaml.safe_load((TABLES / f"{name}.yaml").read_text())
        return tables

    dtypes = read("dtype_gaps")
    made = {
        "dtype_gaps": dtype_rows(dtypes["gaps"]),
        "dtype_words": dtype_rows(dtypes["renamed"]),
        "own_checks": own_check_rows(read("own_checks")["rows"]),
        "waits": named_rows(read("synchronizing")["operators"]),
        "device_asserts": assert_rows(read("device_asserts")["asserts"]),
        "nondeterministic": named_rows(read("nondeterministic")["operators"], "name"),
    }
    for name, rows in made.items():
        (output / f"{name}.inc").write_text("".join(rows))
