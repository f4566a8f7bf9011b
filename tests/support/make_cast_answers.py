"""Write tests/src/convert/cast_answers.hpp: what astype gives for awkward values.

The answers are those of the installed NumPy and ml_dtypes. Run by hand, from anywhere, when a value
is added: python tests/support/make_cast_answers.py
"""

from pathlib import Path

import ml_dtypes
import numpy as np

OUT = Path(__file__).parents[1] / "src/convert/cast_answers.hpp"
FORMATS = """float16 bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn
    float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float6_e2m3fn float6_e3m2fn
    float4_e2m1fn""".split()

# Ties, edges of ranges, subnormals, and values that show whether float32 lies on the way.
FLOATS = [
    0.0, -0.0, 1.0, -1.5, 1 / 3, 0.1, np.inf, -np.inf,
    2.0**-149, 2.0**-134, 2.0**-133, 2.0**-127, 2.0**-126, 1.5 * 2.0**127, 2.0**128,
    1e300, -1e300, 5e-324, 65504.0, 65519.99, 65520.0, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25,
    448.0, 464.0, 464.001, 480.0, -465.0, 240.0, 247.9, 248.0, 57344.0, 61439.0, 61440.0,
    15.5, 15.75, 28.0, 30.0, 31.0, 7.5, 7.75, 6.0, 5.0, 7.0, 0.75, 2.5,
    2.0**-9, 2.0**-10, 3 * 2.0**-10, 1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-30,
    1 + 3 * 2.0**-11 - 2.0**-30, 1 + 2.0**-8 + 2.0**-30, 1 + 2.0**-4 + 2.0**-40,
    1 + 2.0**-3 + 2.0**-40, 1 + 2.0**-2 + 2.0**-40, -(1 + 2.0**-11 + 2.0**-52),
]  # fmt: skip
INTS = [
    0, 1, -1, 7, -8, 127, 255, 256, 257, 449, 465, 2049, 2051, 65504, 65519, 65520, -65520,
    2**24 + 1, 2**24 + 3, 2**31 + 2**23 + 1, 2**53 + 1, 2**60 + 2**49 + 1, 2**63 - 1, -(2**63),
    -(2**62) - 2**38 - 1,
]  # fmt: skip


def dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def bits(value: np.ndarray, name: str) -> str:
    cast = value.astype(dtype(name))
    return f"0x{cast.view(f'u{cast.itemsize}')[0]:X}"


def literal(value: float | int) -> str:
    if isinstance(value, int):  # C++ has no literal for the least integer
        return f"{value + 1} - 1" if value == -(2**63) else str(value)
    return {np.inf: "kInfinity", -np.inf: "-kInfinity"}.get(value) or value.hex()


def rows(values: list, kind: str) -> list[str]:
    lines = []
    for value in values:
        array = np.array([value], kind)
        answers = ", ".join(bits(array, target) for target in ["float32", *FORMATS])
        lines.append(f"    {{{literal(value)}, {{{answers}}}}},")
    return lines


def main() -> None:
    with np.errstate(all="ignore"):
        text = [
            "// What NumPy 2.4 and ml_dtypes 0.6 make of awkward values. For cast_test.cpp.",
            "// Written by tests/support/make_cast_answers.py; do not edit.",
            "#pragma once",
            "",
            "#include <cstdint>",
            "#include <limits>",
            "",
            "namespace ashore {",
            "",
            "// clang-format off",
            'constexpr const char* kAnswerDTypes[] = {"float32", '
            + ", ".join(f'"{name}"' for name in FORMATS[:6])
            + ",",
            "    " + ", ".join(f'"{name}"' for name in FORMATS[6:]) + "};",
            "",
            "template <typename T>",
            "struct CastAnswer {",
            "  T value;",
            f"  std::uint32_t bits[{len(FORMATS) + 1}];  // one for each of kAnswerDTypes",
            "};",
            "",
            "constexpr double kInfinity = std::numeric_limits<double>::infinity();",
            "",
            "constexpr CastAnswer<double> kFloat64Answers[] = {",
            *rows(FLOATS, "f8"),
            "};",
            "",
            "constexpr CastAnswer<std::int64_t> kInt64Answers[] = {",
            *rows(INTS, "i8"),
            "};",
            "// clang-format on",
            "",
            "}  // namespace ashore",
        ]
    OUT.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
