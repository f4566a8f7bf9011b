// How one element of each dtype becomes a number and back, without branches, so that the compiler
// makes vectors of it. Called by the cast kernels (cast_kernels.hpp) alone.
//
// The results are those of element.hpp, bit for bit (tests/src/convert/levels_test.cpp compares
// them). What is a branch there is a selection among computed values here.
//
// A number is of one of five types, the dtype's "hub": the narrowest that holds all its values.
#pragma once

#include <ashore/dtype.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "convert/element.hpp"
#include "convert/small_float.hpp"
#include "host/simd_target.hpp"

namespace ashore::lanes {

/// One of two values that are both there already: a blend in vectors.
template <typename Word>
ASHORE_INLINE constexpr Word select(bool condition, Word yes, Word no) noexcept {
  return condition ? yes : no;
}

/// Cut a float to an integer from kMin to kMax; out of range saturates, NaN is 0.
template <typename T, T kMin, T kMax, typename F>
ASHORE_INLINE T truncate(F value) noexcept {
  using Wide = std::conditional_t<sizeof(T) < 4, std::int32_t, T>;
  // The largest value at or below kMax that the float type has.
  constexpr int kSpare = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(kMax))) -
                         std::numeric_limits<F>::digits;
  constexpr T kTop =
      kSpare > 0 ? static_cast<T>(kMax >> (kSpare > 0 ? kSpare : 0) << (kSpare > 0 ? kSpare : 0))
                 : kMax;
  constexpr F kLow = static_cast<F>(kMin);
  constexpr F kHigh = static_cast<F>(kTop);
  F inside = value == value ? value : F{0};
  inside = inside < kLow ? kLow : inside;
  inside = inside > kHigh ? kHigh : inside;
  const Wide cut = static_cast<Wide>(inside);
  if constexpr (kTop == kMax) {
    return static_cast<T>(cut);
  } else {  // what lies above the last float is kMax
    using Word = std::make_unsigned_t<Wide>;
    return static_cast<T>(
        select<Word>(value > kHigh, static_cast<Word>(kMax), static_cast<Word>(cut)));
  }
}

/// The value of a bit pattern of a small format.
template <typename Format>
ASHORE_INLINE float decode_small(typename Format::Bits pattern) noexcept {
  constexpr std::uint32_t kFractionMask = (1u << Format::kMantissaBits) - 1;
  constexpr int kShift = 23 - Format::kMantissaBits;
  const std::uint32_t bits = pattern;
  const std::uint32_t magnitude = bits & Format::kMagnitude;
  const std::uint32_t sign =
      !Format::kSigned ? 0u
      : Format::kBits == 8 * sizeof(pattern)
          ? (bits & Format::kSign) << (32 - Format::kBits)
          : select<std::uint32_t>((bits & ~Format::kMagnitude) != 0, 0x8000'0000u, 0u);
  const std::uint32_t nan = 0x7fc0'0000u | ((magnitude & kFractionMask) << kShift);
  std::uint32_t word = magnitude << kShift;
  if constexpr (Format::kTop == Top::kScale) {
    word = select<std::uint32_t>(magnitude == 0, 0x0040'0000u, word);
    return std::bit_cast<float>(select(magnitude == Format::kMagnitude, 0x7fc0'0000u, word));
  } else if constexpr (Format::kExponentBits == 8) {  // the upper half of a float
    return std::bit_cast<float>(sign | select(magnitude > Format::kLastExponent, nan, word));
  } else {
    constexpr float kUnit = std::bit_cast<float>(
        static_cast<std::uint32_t>(128 - Format::kBias - Format::kMantissaBits) << 23);
    const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * kUnit;
    word = select(magnitude <= kFractionMask, std::bit_cast<std::uint32_t>(subnormal),
                  word + (static_cast<std::uint32_t>(127 - Format::kBias) << 23));
    if constexpr (Format::kTop == Top::kInfNan) {
      // The last exponent goes to float's last one; a fraction there makes NaN, a quiet one.
      const std::uint32_t last = 0x7f80'0000u | ((magnitude & kFractionMask) << kShift);
      word = select(
          magnitude >= Format::kLastExponent,
          last | select<std::uint32_t>(magnitude > Format::kLastExponent, 0x0040'0000u, 0u), word);
    } else if constexpr (Format::kTop == Top::kNan) {
      word = select(magnitude == Format::kMagnitude, nan, word);
    } else if constexpr (Format::kTop == Top::kNanZero) {
      word = select(bits == Format::kSign, nan, word);
    }
    return std::bit_cast<float>(sign | word);
  }
}

/// The bits of a value in a small format, rounded to nearest even.
template <typename Format, typename Wide>
ASHORE_INLINE typename Format::Bits encode_small(Wide value) noexcept {
  using Word = std::conditional_t<sizeof(Wide) == 4, std::uint32_t, std::uint64_t>;
  constexpr int kWideMantissa = sizeof(Wide) == 4 ? 23 : 52;
  constexpr int kWideBias = sizeof(Wide) == 4 ? 127 : 1023;
  constexpr Word kWideInfinity = Word{2 * kWideBias + 1} << kWideMantissa;
  constexpr Word kWideSign = Word{1} << (8 * sizeof(Word) - 1);
  constexpr int kDrop = kWideMantissa - Format::kMantissaBits;
  constexpr Word kOverflow = Format::kOverflow;
  constexpr Word kNan = Format::kNanBits;

  const Word word = std::bit_cast<Word>(value);
  const Word magnitude = word & ~kWideSign;
  Word bits;
  if constexpr (Format::kTop == Top::kScale) {
    // Ties go up; of the subnormals all but those up to 2^-127 become 2^-126.
    static_assert(sizeof(Wide) == 4);
    const Word normal = (magnitude + (Word{1} << (kDrop - 1))) >> kDrop;
    const Word subnormal = select<Word>(magnitude > 0x0040'0000u, 1, 0);
    bits = select<Word>(magnitude < (Word{1} << kWideMantissa), subnormal, normal);
    bits = select<Word>(bits > Format::kMaxFinite, kOverflow, bits);
    const bool has_none = magnitude != word || magnitude == 0 || magnitude > kWideInfinity;
    return static_cast<typename Format::Bits>(select<Word>(has_none, kNan, bits));
  }
  // A normal number: round away what the format has no room for, then take off the difference of
  // the biases. A carry goes into the exponent, as it should.
  constexpr Word kRebias = Word{kWideBias - Format::kBias} << Format::kMantissaBits;
  const Word rounded =
      (magnitude + ((Word{1} << (kDrop - 1)) - 1) + ((magnitude >> kDrop) & 1)) >> kDrop;
  bits = rounded - kRebias;
  if constexpr (kWideBias != Format::kBias) {
    // A subnormal one: an addition whose last place is the format's smallest step rounds it.
    constexpr Word kMagic =
        Word{1 - Format::kBias - Format::kMantissaBits + kWideMantissa + kWideBias}
        << kWideMantissa;
    constexpr Word kMinNormal = Word{kWideBias - Format::kBias + 1} << kWideMantissa;
    const Wide sum = std::bit_cast<Wide>(magnitude) + std::bit_cast<Wide>(kMagic);
    bits = select<Word>(magnitude < kMinNormal, std::bit_cast<Word>(sum) - kMagic, bits);
  }
  bits = select<Word>(bits > Format::kMaxFinite, kOverflow, bits);
  bits = select<Word>(magnitude > kWideInfinity, kNan, bits);
  const Word sign = (word >> (8 * sizeof(Word) - Format::kBits)) & Format::kSign;
  if constexpr (Format::kTop == Top::kNanZero) {
    return static_cast<typename Format::Bits>(bits |
                                              select<Word>(bits == 0 || bits == kNan, 0, sign));
  } else {
    return static_cast<typename Format::Bits>(bits ^ sign);
  }
}

/// The hub of one part of each dtype, what it is in memory, and the way there and back.
template <DType kType>
struct Lane {
  using Scalar = Element<kType>;
  using Bits = typename Scalar::Bits;
  using Hub = void;  // long double has none: no vectors hold it
};

template <typename T>
struct IntegerLane {
  static constexpr bool kIsSmallFloat = false;
  using Bits = T;
  using Hub =
      std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t,
                         std::conditional_t<(sizeof(T) > 4 || std::is_same_v<T, std::uint32_t>),
                                            std::int64_t, std::int32_t>>;
  ASHORE_INLINE static Hub decode(Bits bits) noexcept { return static_cast<Hub>(bits); }
  template <typename H>
  ASHORE_INLINE static Bits encode(H value) noexcept {
    if constexpr (std::is_floating_point_v<H>) {
      return truncate<T, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()>(value);
    } else {
      return static_cast<T>(value);
    }
  }
};

template <int kWidth, bool kSigned>
struct TinyIntegerLane {
  static constexpr bool kIsSmallFloat = false;
  using Bits = std::uint8_t;
  using Hub = std::int32_t;
  ASHORE_INLINE static Hub decode(Bits bits) noexcept {
    const std::uint32_t up = std::uint32_t{bits} << (32 - kWidth);
    return kSigned ? static_cast<std::int32_t>(up) >> (32 - kWidth)
                   : static_cast<std::int32_t>(up >> (32 - kWidth));
  }
  template <typename H>
  ASHORE_INLINE static Bits encode(H value) noexcept {
    constexpr std::int32_t kMax = kSigned ? (1 << (kWidth - 1)) - 1 : (1 << kWidth) - 1;
    constexpr std::int32_t kMin = kSigned ? -kMax - 1 : 0;
    constexpr unsigned kMask = (1u << kWidth) - 1;
    if constexpr (std::is_floating_point_v<H>) {
      return static_cast<Bits>(static_cast<unsigned>(truncate<std::int32_t, kMin, kMax>(value)) &
                               kMask);
    } else {
      return static_cast<Bits>(static_cast<unsigned>(value) & kMask);
    }
  }
};

struct BoolLane {
  static constexpr bool kIsSmallFloat = false;
  using Bits = std::uint8_t;
  using Hub = std::int32_t;
  ASHORE_INLINE static Hub decode(Bits bits) noexcept { return bits != 0; }
  template <typename H>
  ASHORE_INLINE static Bits encode(H value) noexcept {
    return static_cast<Bits>(value != H{0});
  }
};

template <typename T>
struct FloatLane {
  static constexpr bool kIsSmallFloat = false;
  using Bits = T;
  using Hub = T;
  ASHORE_INLINE static Hub decode(Bits bits) noexcept { return bits; }
  template <typename H>
  ASHORE_INLINE static Bits encode(H value) noexcept {
    return static_cast<T>(value);
  }
};

template <typename Format>
struct SmallFloatLane {
  static constexpr bool kIsSmallFloat = true;
  using Bits = typename Format::Bits;
  using Hub = float;
  ASHORE_INLINE static Hub decode(Bits bits) noexcept { return decode_small<Format>(bits); }
  template <typename H>
  ASHORE_INLINE static Bits encode(H value) noexcept {
    return encode_small<Format>(value);  // H is float, or double for float16
  }
};

// clang-format off
template <> struct Lane<DType::kBool> : BoolLane {};
template <> struct Lane<DType::kInt8> : IntegerLane<std::int8_t> {};
template <> struct Lane<DType::kInt16> : IntegerLane<std::int16_t> {};
template <> struct Lane<DType::kInt32> : IntegerLane<std::int32_t> {};
template <> struct Lane<DType::kInt64> : IntegerLane<std::int64_t> {};
template <> struct Lane<DType::kUInt8> : IntegerLane<std::uint8_t> {};
template <> struct Lane<DType::kUInt16> : IntegerLane<std::uint16_t> {};
template <> struct Lane<DType::kUInt32> : IntegerLane<std::uint32_t> {};
template <> struct Lane<DType::kUInt64> : IntegerLane<std::uint64_t> {};
template <> struct Lane<DType::kFloat16> : SmallFloatLane<Half> {};
template <> struct Lane<DType::kBFloat16> : SmallFloatLane<BFloat16> {};
template <> struct Lane<DType::kFloat32> : FloatLane<float> {};
template <> struct Lane<DType::kFloat64> : FloatLane<double> {};
template <> struct Lane<DType::kComplex32> : SmallFloatLane<Half> {};
template <> struct Lane<DType::kBComplex32> : SmallFloatLane<BFloat16> {};
template <> struct Lane<DType::kComplex64> : FloatLane<float> {};
template <> struct Lane<DType::kComplex128> : FloatLane<double> {};
template <> struct Lane<DType::kFloat8E3M4> : SmallFloatLane<Float8E3M4> {};
template <> struct Lane<DType::kFloat8E4M3> : SmallFloatLane<Float8E4M3> {};
template <> struct Lane<DType::kFloat8E4M3B11FNUZ> : SmallFloatLane<Float8E4M3B11FNUZ> {};
template <> struct Lane<DType::kFloat8E4M3FN> : SmallFloatLane<Float8E4M3FN> {};
template <> struct Lane<DType::kFloat8E4M3FNUZ> : SmallFloatLane<Float8E4M3FNUZ> {};
template <> struct Lane<DType::kFloat8E5M2> : SmallFloatLane<Float8E5M2> {};
template <> struct Lane<DType::kFloat8E5M2FNUZ> : SmallFloatLane<Float8E5M2FNUZ> {};
template <> struct Lane<DType::kFloat8E8M0FNU> : SmallFloatLane<Float8E8M0FNU> {};
template <> struct Lane<DType::kFloat6E2M3FN> : SmallFloatLane<Float6E2M3FN> {};
template <> struct Lane<DType::kFloat6E3M2FN> : SmallFloatLane<Float6E3M2FN> {};
template <> struct Lane<DType::kFloat4E2M1FN> : SmallFloatLane<Float4E2M1FN> {};
template <> struct Lane<DType::kInt1> : TinyIntegerLane<1, true> {};
template <> struct Lane<DType::kInt2> : TinyIntegerLane<2, true> {};
template <> struct Lane<DType::kInt4> : TinyIntegerLane<4, true> {};
template <> struct Lane<DType::kUInt1> : TinyIntegerLane<1, false> {};
template <> struct Lane<DType::kUInt2> : TinyIntegerLane<2, false> {};
template <> struct Lane<DType::kUInt4> : TinyIntegerLane<4, false> {};
// clang-format on

}  // namespace ashore::lanes
