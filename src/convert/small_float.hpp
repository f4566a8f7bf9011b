// Codecs of the floating-point formats that C++ has no type for: half, bfloat16, the 8-bit ones and
// smaller. Called by the cast's loaders and storers (element.hpp), and by tests.
//
// One template knows them all. What differs between formats is where the bits are and what happens
// above the largest finite value; the rules are those of ml_dtypes 0.6, bit for bit.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace ashore {

/// What a format keeps above its largest finite value.
enum class Top {
  kInfNan,   ///< IEEE 754: the last exponent is infinity and NaN
  kNan,      ///< "fn": all ones is NaN, there is no infinity; overflow gives NaN
  kNanZero,  ///< "fnuz": the pattern of -0 is the only NaN; overflow gives NaN
  kFinite,   ///< "fn" of 6 and 4 bits: neither; overflow saturates, NaN becomes a zero
  kScale,    ///< "fnu": a power of two without sign or zero; all ones is NaN
};

/// A format of so many bits of exponent and mantissa (and a sign, but for Top::kScale).
template <int kExponents, int kMantissas, int kExponentBias, Top kTopRule>
struct SmallFloat {
  static constexpr int kExponentBits = kExponents;
  static constexpr int kMantissaBits = kMantissas;
  static constexpr int kBias = kExponentBias;
  static constexpr Top kTop = kTopRule;
  static constexpr bool kSigned = kTop != Top::kScale;
  static constexpr int kBits = kExponentBits + kMantissaBits + (kSigned ? 1 : 0);
  using Bits = std::conditional_t<(kBits > 8), std::uint16_t, std::uint8_t>;

  static constexpr std::uint32_t kSign = kSigned ? 1u << (kBits - 1) : 0;
  static constexpr std::uint32_t kMagnitude = (1u << (kExponentBits + kMantissaBits)) - 1;
  static constexpr std::uint32_t kLastExponent = ((1u << kExponentBits) - 1) << kMantissaBits;
  static constexpr std::uint32_t kMaxFinite = kTop == Top::kInfNan  ? kLastExponent - 1
                                              : kTop == Top::kNan   ? kMagnitude - 1
                                              : kTop == Top::kScale ? kMagnitude - 1
                                                                    : kMagnitude;
  static constexpr std::uint32_t kNanBits = kTop == Top::kInfNan
                                                ? kLastExponent | (1u << (kMantissaBits - 1))
                                            : kTop == Top::kNan   ? kMagnitude
                                            : kTop == Top::kScale ? kMagnitude
                                                                  : kSign;
  static constexpr std::uint32_t kOverflow = kTop == Top::kInfNan   ? kLastExponent
                                             : kTop == Top::kFinite ? kMaxFinite
                                                                    : kNanBits;

  /// Return the value of a bit pattern; exact in float for every format. Bits above the format's
  /// own count as its sign, as in ml_dtypes.
  static constexpr float decode(Bits bits) noexcept {
    const std::uint32_t magnitude = bits & kMagnitude;
    const std::uint32_t sign = kSigned && (bits & ~kMagnitude) != 0 ? 0x8000'0000u : 0;
    const std::uint32_t fraction = (magnitude & ((1u << kMantissaBits) - 1))
                                   << (23 - kMantissaBits);
    const std::uint32_t exponent = magnitude >> kMantissaBits;
    if (is_nan(magnitude, sign != 0)) return std::bit_cast<float>(sign | 0x7fc0'0000u | fraction);
    if (kTop == Top::kInfNan && magnitude == kLastExponent) {
      return std::bit_cast<float>(sign | 0x7f80'0000u);
    }
    if constexpr (kTop == Top::kScale) {  // exponent 0 is 2^-127, which float has as a subnormal
      return std::bit_cast<float>(exponent == 0 ? 0x0040'0000u : exponent << 23);
    } else if constexpr (kExponentBits == 8) {  // bfloat16: the upper half of a float
      return std::bit_cast<float>(sign | (exponent << 23) | fraction);
    } else {
      if (exponent != 0) {
        return std::bit_cast<float>(sign | ((exponent + 127 - kBias) << 23) | fraction);
      }
      constexpr float kUnit =  // the smallest subnormal
          std::bit_cast<float>(static_cast<std::uint32_t>(128 - kBias - kMantissaBits) << 23);
      const float value = static_cast<float>(magnitude) * kUnit;
      return sign != 0 ? -value : value;
    }
  }

  /// Return the bits of `value`, rounded to nearest even; `Wide` is float or double.
  template <typename Wide>
  static constexpr Bits encode(Wide value) noexcept {
    using Word = std::conditional_t<sizeof(Wide) == 4, std::uint32_t, std::uint64_t>;
    constexpr int kWideMantissa = sizeof(Wide) == 4 ? 23 : 52;
    constexpr int kWideBias = sizeof(Wide) == 4 ? 127 : 1023;
    constexpr Word kWideInfinity = Word{2 * kWideBias + 1} << kWideMantissa;
    constexpr Word kImplicit = Word{1} << kWideMantissa;

    const Word word = std::bit_cast<Word>(value);
    const Word magnitude = word & ~(Word{1} << (8 * sizeof(Word) - 1));
    const bool negative = magnitude != word;
    if (magnitude > kWideInfinity) return finish(kNanBits, negative);
    if (kTop == Top::kScale && (negative || magnitude == 0)) return finish(kNanBits, false);
    if (magnitude == kWideInfinity) return finish(kOverflow, negative);
    if (magnitude == 0) return finish(0, negative);

    int exponent = static_cast<int>(magnitude >> kWideMantissa);
    Word significand = magnitude & (kImplicit - 1);
    if (exponent == 0) {  // a subnormal of the wide type: bring its first one to the implicit place
      const int shift = std::countl_zero(significand) - (8 * int{sizeof(Word)} - 1 - kWideMantissa);
      significand <<= shift;
      exponent = 1 - shift;
    } else {
      significand |= kImplicit;
    }
    exponent += kBias - kWideBias;  // as this format counts; below 1 the result is subnormal
    if (exponent > (1 << kExponentBits)) return finish(kOverflow, negative);

    // Two bits past the significand nothing is left of it, so farther need not be shifted.
    const int below = exponent < 1 ? 1 - exponent : 0;
    const int drop_all = kWideMantissa + 2;
    const int drop_some = kWideMantissa - kMantissaBits + below;
    const int drop = drop_some < drop_all ? drop_some : drop_all;
    const Word half = (Word{1} << (drop - 1)) - 1 + ((significand >> drop) & 1);
    const auto rounded = static_cast<std::uint32_t>((significand + half) >> drop);
    // The implicit one carries into the exponent, and so does a rounding up.
    const std::uint32_t base = exponent < 1 ? 0u : static_cast<std::uint32_t>(exponent - 1);
    const std::uint32_t bits = rounded + (base << kMantissaBits);
    return finish(bits > kMaxFinite ? kOverflow : bits, negative);
  }

 private:
  static constexpr bool is_nan(std::uint32_t magnitude, bool negative) noexcept {
    switch (kTop) {
      case Top::kInfNan:
        return magnitude > kLastExponent;
      case Top::kNan:
      case Top::kScale:
        return magnitude == kMagnitude;
      case Top::kNanZero:
        return negative && magnitude == 0;
      default:
        return false;
    }
  }

  // Put the sign on, where the format has that pattern.
  static constexpr Bits finish(std::uint32_t magnitude, bool negative) noexcept {
    if (kTop == Top::kNanZero && (magnitude == 0 || magnitude == kNanBits)) {
      return static_cast<Bits>(magnitude);
    }
    return static_cast<Bits>(negative ? magnitude ^ kSign : magnitude);
  }
};

using Half = SmallFloat<5, 10, 15, Top::kInfNan>;
using BFloat16 = SmallFloat<8, 7, 127, Top::kInfNan>;
using Float8E3M4 = SmallFloat<3, 4, 3, Top::kInfNan>;
using Float8E4M3 = SmallFloat<4, 3, 7, Top::kInfNan>;
using Float8E4M3B11FNUZ = SmallFloat<4, 3, 11, Top::kNanZero>;
using Float8E4M3FN = SmallFloat<4, 3, 7, Top::kNan>;
using Float8E4M3FNUZ = SmallFloat<4, 3, 8, Top::kNanZero>;
using Float8E5M2 = SmallFloat<5, 2, 15, Top::kInfNan>;
using Float8E5M2FNUZ = SmallFloat<5, 2, 16, Top::kNanZero>;
using Float8E8M0FNU = SmallFloat<8, 0, 127, Top::kScale>;
using Float6E2M3FN = SmallFloat<2, 3, 1, Top::kFinite>;
using Float6E3M2FN = SmallFloat<3, 2, 3, Top::kFinite>;
using Float4E2M1FN = SmallFloat<2, 1, 1, Top::kFinite>;

}  // namespace ashore
