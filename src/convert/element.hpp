// What one element of each dtype is: its bytes, the canonical type that holds its value, and the
// way between the two. Called by the staged cast (stage.cpp) alone.
//
// A real element goes through one of four canonical types, chosen by the dtype that it comes from:
// int64 and uint64 for integers, double for floats, long double for itself. All hold every value of
// their dtypes exactly, so the one rounding that NumPy does is left to `encode`.
#pragma once

#include <ashore/dtype.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "convert/small_float.hpp"

namespace ashore {

/// Cut a float to an integer of `kDigits` value bits; out of range saturates, NaN is 0.
template <typename T, int kDigits, typename F>
T truncate_saturated(F value) noexcept {
  constexpr F kEnd =
      static_cast<F>(std::uint64_t{1} << (kDigits - 1)) * 2;  // exact: a power of two
  constexpr T kMax = static_cast<T>(std::numeric_limits<std::uint64_t>::max() >> (64 - kDigits));
  constexpr T kMin = std::is_signed_v<T> ? static_cast<T>(-kMax - 1) : T{0};
  if (value >= kEnd) return kMax;
  if (value <= static_cast<F>(kMin)) return kMin;
  return value == value ? static_cast<T>(value) : T{0};
}

/// int8 to uint64.
template <typename T>
struct IntegerElement {
  using Bits = T;
  using Canonical =
      std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t, std::int64_t>;
  static Canonical decode(Bits bits) noexcept { return static_cast<Canonical>(bits); }
  static Canonical negate(Canonical value) noexcept {
    return decode(static_cast<T>(0 - static_cast<std::uint64_t>(value)));
  }
  template <typename C>
  static Bits encode(C value) noexcept {
    if constexpr (std::is_floating_point_v<C>) {
      return truncate_saturated<T, std::numeric_limits<T>::digits>(value);
    } else {
      return static_cast<T>(value);
    }
  }
};

/// Integers of 1, 2 and 4 bits, each in the low end of a byte; the bits above are not looked at.
template <int kWidth, bool kSigned>
struct TinyIntegerElement {
  using Bits = std::uint8_t;
  using Canonical = std::int64_t;
  static constexpr unsigned kMask = (1u << kWidth) - 1;
  static Canonical decode(Bits bits) noexcept {
    const auto value = static_cast<Canonical>(bits & kMask);
    return kSigned && (value >> (kWidth - 1)) != 0 ? value - (1 << kWidth) : value;
  }
  static Canonical negate(Canonical value) noexcept { return decode(encode(0 - value)); }
  template <typename C>
  static Bits encode(C value) noexcept {
    if constexpr (!std::is_floating_point_v<C>) {
      return static_cast<Bits>(static_cast<unsigned>(value) & kMask);
    } else {
      constexpr int kMax = kSigned ? (1 << (kWidth - 1)) - 1 : (1 << kWidth) - 1;
      constexpr int kMin = kSigned ? -kMax - 1 : 0;
      const auto wide = truncate_saturated<std::int32_t, 31>(value);
      return encode(std::int64_t{wide < kMin ? kMin : wide > kMax ? kMax : wide});
    }
  }
};

/// Any byte but 0 is true, and counts as 1; so does any value but 0, NaN included.
struct BoolElement {
  using Bits = std::uint8_t;
  using Canonical = std::int64_t;
  static Canonical decode(Bits bits) noexcept { return bits != 0; }
  static Canonical negate(Canonical value) noexcept { return value; }
  template <typename C>
  static Bits encode(C value) noexcept {
    return value != C{0};
  }
};

/// float and double.
template <typename T>
struct FloatElement {
  using Bits = T;
  using Canonical = double;
  static Canonical decode(Bits bits) noexcept { return bits; }
  static Canonical negate(Canonical value) noexcept { return -value; }
  template <typename C>
  static Bits encode(C value) noexcept {
    return static_cast<T>(value);
  }
};

/// long double, by its bytes: those that pad it are written as zeros.
struct LongDoubleElement {
  using Bits = std::array<unsigned char, sizeof(long double)>;
  using Canonical = long double;
  static constexpr std::size_t kUsedBytes =
      std::numeric_limits<long double>::digits == 64 ? 10 : 16;
  static Canonical decode(const Bits& bits) noexcept {
    long double value;
    std::memcpy(&value, bits.data(), sizeof(value));
    return value;
  }
  static Canonical negate(Canonical value) noexcept { return -value; }
  template <typename C>
  static Bits encode(C value) noexcept {
    const auto wide = static_cast<long double>(value);
    Bits bits{};
    std::memcpy(bits.data(), &wide, kUsedBytes < sizeof(wide) ? kUsedBytes : sizeof(wide));
    return bits;
  }
};

/// Where a wider value passes through float32 on its way into a small format.
enum class Via { kFloat, kNothing };

/// The formats of small_float.hpp. ml_dtypes rounds to float32 first, whatever comes in; so does
/// NumPy for float16 from integers and long double, but not from float64.
template <typename Format, Via kVia>
struct SmallFloatElement {
  using Bits = typename Format::Bits;
  using Canonical = double;
  static Canonical decode(Bits bits) noexcept {
    if constexpr (sizeof(Bits) == 1) {
      return kTable[bits];
    } else {
      return Format::decode(bits);
    }
  }
  static Canonical negate(Canonical value) noexcept { return -value; }
  template <typename C>
  static Bits encode(C value) noexcept {
    if constexpr (std::is_same_v<C, double> && kVia == Via::kNothing) {
      return Format::encode(value);
    } else {
      return Format::encode(static_cast<float>(value));
    }
  }

  static constexpr auto make_table() noexcept {
    std::array<float, sizeof(Bits) == 1 ? 256 : 1> table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = Format::decode(static_cast<Bits>(i));
    return table;
  }
  /// The values of all patterns, for formats of a byte.
  static constexpr auto kTable = make_table();
};

/// The element of each real dtype, and of one part of each complex one.
template <DType kType>
struct Element;

// clang-format off
template <> struct Element<DType::kBool> : BoolElement {};
template <> struct Element<DType::kInt8> : IntegerElement<std::int8_t> {};
template <> struct Element<DType::kInt16> : IntegerElement<std::int16_t> {};
template <> struct Element<DType::kInt32> : IntegerElement<std::int32_t> {};
template <> struct Element<DType::kInt64> : IntegerElement<std::int64_t> {};
template <> struct Element<DType::kUInt8> : IntegerElement<std::uint8_t> {};
template <> struct Element<DType::kUInt16> : IntegerElement<std::uint16_t> {};
template <> struct Element<DType::kUInt32> : IntegerElement<std::uint32_t> {};
template <> struct Element<DType::kUInt64> : IntegerElement<std::uint64_t> {};
template <> struct Element<DType::kFloat16> : SmallFloatElement<Half, Via::kNothing> {};
template <> struct Element<DType::kBFloat16> : SmallFloatElement<BFloat16, Via::kFloat> {};
template <> struct Element<DType::kFloat32> : FloatElement<float> {};
template <> struct Element<DType::kFloat64> : FloatElement<double> {};
template <> struct Element<DType::kLongDouble> : LongDoubleElement {};
template <> struct Element<DType::kComplex32> : SmallFloatElement<Half, Via::kFloat> {};
template <> struct Element<DType::kBComplex32> : SmallFloatElement<BFloat16, Via::kFloat> {};
template <> struct Element<DType::kComplex64> : FloatElement<float> {};
template <> struct Element<DType::kComplex128> : FloatElement<double> {};
template <> struct Element<DType::kComplexLongDouble> : LongDoubleElement {};
template <> struct Element<DType::kFloat8E3M4> : SmallFloatElement<Float8E3M4, Via::kFloat> {};
template <> struct Element<DType::kFloat8E4M3> : SmallFloatElement<Float8E4M3, Via::kFloat> {};
template <> struct Element<DType::kFloat8E4M3B11FNUZ> : SmallFloatElement<Float8E4M3B11FNUZ, Via::kFloat> {};
template <> struct Element<DType::kFloat8E4M3FN> : SmallFloatElement<Float8E4M3FN, Via::kFloat> {};
template <> struct Element<DType::kFloat8E4M3FNUZ> : SmallFloatElement<Float8E4M3FNUZ, Via::kFloat> {};
template <> struct Element<DType::kFloat8E5M2> : SmallFloatElement<Float8E5M2, Via::kFloat> {};
template <> struct Element<DType::kFloat8E5M2FNUZ> : SmallFloatElement<Float8E5M2FNUZ, Via::kFloat> {};
template <> struct Element<DType::kFloat8E8M0FNU> : SmallFloatElement<Float8E8M0FNU, Via::kFloat> {};
template <> struct Element<DType::kFloat6E2M3FN> : SmallFloatElement<Float6E2M3FN, Via::kFloat> {};
template <> struct Element<DType::kFloat6E3M2FN> : SmallFloatElement<Float6E3M2FN, Via::kFloat> {};
template <> struct Element<DType::kFloat4E2M1FN> : SmallFloatElement<Float4E2M1FN, Via::kFloat> {};
template <> struct Element<DType::kInt1> : TinyIntegerElement<1, true> {};
template <> struct Element<DType::kInt2> : TinyIntegerElement<2, true> {};
template <> struct Element<DType::kInt4> : TinyIntegerElement<4, true> {};
template <> struct Element<DType::kUInt1> : TinyIntegerElement<1, false> {};
template <> struct Element<DType::kUInt2> : TinyIntegerElement<2, false> {};
template <> struct Element<DType::kUInt4> : TinyIntegerElement<4, false> {};
// clang-format on

/// The convertible dtypes are the first so many of the enum.
inline constexpr int kConvertibleCount = static_cast<int>(DType::kUInt4) + 1;

}  // namespace ashore
