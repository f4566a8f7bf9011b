// The codec template: every pattern of every format against the formats' definitions.
#include "convert/small_float.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace ashore {
namespace {

// What the formats' specifications say of themselves: exponent bits, mantissa bits, bias, the
// largest finite value; and what becomes of overflow and NaN (positive patterns).
struct Spec {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  double max;
  std::uint32_t overflow;
  std::uint32_t nan;
  bool signed_zero = true;
};

template <typename Format>
Spec spec_of();
template <>
Spec spec_of<Half>() {
  return {5, 10, 15, 65504, 0x7C00, 0x7E00};
}
template <>
Spec spec_of<BFloat16>() {
  return {8, 7, 127, 0x1.FEp127, 0x7F80, 0x7FC0};
}
template <>
Spec spec_of<Float8E3M4>() {
  return {3, 4, 3, 15.5, 0x70, 0x78};
}
template <>
Spec spec_of<Float8E4M3>() {
  return {4, 3, 7, 240, 0x78, 0x7C};
}
template <>
Spec spec_of<Float8E4M3B11FNUZ>() {
  return {4, 3, 11, 30, 0x80, 0x80, false};
}
template <>
Spec spec_of<Float8E4M3FN>() {
  return {4, 3, 7, 448, 0x7F, 0x7F};
}
template <>
Spec spec_of<Float8E4M3FNUZ>() {
  return {4, 3, 8, 240, 0x80, 0x80, false};
}
template <>
Spec spec_of<Float8E5M2>() {
  return {5, 2, 15, 57344, 0x7C, 0x7E};
}
template <>
Spec spec_of<Float8E5M2FNUZ>() {
  return {5, 2, 16, 57344, 0x80, 0x80, false};
}
template <>
Spec spec_of<Float6E2M3FN>() {
  return {2, 3, 1, 7.5, 0x1F, 0x20};
}
template <>
Spec spec_of<Float6E3M2FN>() {
  return {3, 2, 3, 28, 0x1F, 0x20};
}
template <>
Spec spec_of<Float4E2M1FN>() {
  return {2, 1, 1, 6, 0x7, 0x8};
}

// The value of a magnitude by the textbook formula.
double textbook(const Spec& spec, std::uint32_t magnitude) {
  const int exponent = static_cast<int>(magnitude >> spec.mantissa_bits);
  const double fraction = magnitude & ((1u << spec.mantissa_bits) - 1);
  const int shift = (exponent == 0 ? 1 : exponent) - spec.bias - spec.mantissa_bits;
  return std::ldexp(fraction + (exponent == 0 ? 0 : std::ldexp(1.0, spec.mantissa_bits)), shift);
}

template <typename Format>
class SmallFloatTest : public ::testing::Test {};

using Formats = ::testing::Types<Half, BFloat16, Float8E3M4, Float8E4M3, Float8E4M3B11FNUZ,
                                 Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ,
                                 Float6E2M3FN, Float6E3M2FN, Float4E2M1FN>;
TYPED_TEST_SUITE(SmallFloatTest, Formats);

TYPED_TEST(SmallFloatTest, DecodesEveryPattern) {
  const Spec spec = spec_of<TypeParam>();
  const int magnitude_bits = spec.exponent_bits + spec.mantissa_bits;
  const std::uint32_t sign = 1u << magnitude_bits;
  int finite = 0;
  for (std::uint32_t bits = 0; bits < 2 * sign; ++bits) {
    const float value = TypeParam::decode(static_cast<typename TypeParam::Bits>(bits));
    const std::uint32_t magnitude = bits & (sign - 1);
    const double expected = textbook(spec, magnitude);
    const bool negative = (bits & sign) != 0;
    if (!spec.signed_zero && bits == sign) {
      EXPECT_TRUE(std::isnan(value));
    } else if (expected <= spec.max) {
      ++finite;
      EXPECT_EQ(value, negative ? -expected : expected) << bits;
      EXPECT_EQ(std::signbit(value), negative) << bits;
    } else if (magnitude == spec.overflow && spec.overflow != spec.nan) {
      EXPECT_EQ(value, negative ? -INFINITY : INFINITY) << bits;
    } else {
      EXPECT_TRUE(std::isnan(value)) << bits;
    }
  }
  EXPECT_GT(finite, 10);
}

TYPED_TEST(SmallFloatTest, EncodesEveryPatternBack) {
  using Bits = typename TypeParam::Bits;
  const Spec spec = spec_of<TypeParam>();
  const std::uint32_t patterns = 2u << (spec.exponent_bits + spec.mantissa_bits);
  for (std::uint32_t bits = 0; bits < patterns; ++bits) {
    const float value = TypeParam::decode(static_cast<Bits>(bits));
    const Bits narrow = TypeParam::encode(value);
    const Bits narrow_double = TypeParam::encode(static_cast<double>(value));
    ASSERT_EQ(narrow, narrow_double) << bits;
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(TypeParam::decode(narrow))) << bits;
    } else {
      ASSERT_EQ(narrow, bits);
    }
  }
}

// Between two neighbours the midpoint goes to the even pattern, and whatever lies beside it to the
// nearer.
template <typename TypeParam, typename Wide>
void expect_nearest_even() {
  const Spec spec = spec_of<TypeParam>();
  const std::uint32_t sign = 1u << (spec.exponent_bits + spec.mantissa_bits);
  for (std::uint32_t low = 0; low < sign; ++low) {
    const double below = textbook(spec, low);
    if (below > spec.max) break;
    // Above the largest finite value the next one would be, had the format another exponent.
    const std::uint32_t high = low + 1;
    const bool overflows = textbook(spec, high) > spec.max || below == spec.max;
    const std::uint32_t high_bits = overflows ? spec.overflow : high;
    const auto middle = static_cast<Wide>((below + textbook(spec, high)) / 2);
    const std::uint32_t even = low % 2 == 0 ? low : high_bits;
    const Wide after = std::nextafter(middle, std::numeric_limits<Wide>::infinity());
    const Wide before = std::nextafter(middle, Wide{0});
    ASSERT_EQ(TypeParam::encode(middle), even) << low;
    ASSERT_EQ(TypeParam::encode(after), high_bits) << low;
    ASSERT_EQ(TypeParam::encode(before), low) << low;
    if (spec.signed_zero) {
      ASSERT_EQ(TypeParam::encode(-middle), even | sign) << low;
      ASSERT_EQ(TypeParam::encode(-before), low | sign) << low;
    } else {  // no -0, and the NaN has no sign of its own
      ASSERT_EQ(TypeParam::encode(-middle), even == 0 ? 0 : even | sign) << low;
      ASSERT_EQ(TypeParam::encode(-before), low == 0 ? 0 : low | sign) << low;
    }
  }
}

TYPED_TEST(SmallFloatTest, RoundsToNearestEvenFromFloat) {
  expect_nearest_even<TypeParam, float>();
}

TYPED_TEST(SmallFloatTest, RoundsToNearestEvenFromDouble) {
  expect_nearest_even<TypeParam, double>();
}

TYPED_TEST(SmallFloatTest, TopAndBottom) {
  const Spec spec = spec_of<TypeParam>();
  const std::uint32_t sign = 1u << (spec.exponent_bits + spec.mantissa_bits);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(TypeParam::encode(std::numeric_limits<float>::max()), spec.overflow);
  EXPECT_EQ(TypeParam::encode(std::numeric_limits<double>::max()), spec.overflow);
  EXPECT_EQ(TypeParam::encode(INFINITY), spec.overflow);
  EXPECT_EQ(TypeParam::encode(-INFINITY), spec.overflow | sign);
  EXPECT_EQ(TypeParam::encode(nan), spec.nan);
  EXPECT_EQ(TypeParam::encode(0.0f), 0);
  EXPECT_EQ(TypeParam::encode(-0.0f), spec.signed_zero ? sign : 0);
  EXPECT_EQ(TypeParam::encode(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(TypeParam::encode(std::numeric_limits<float>::denorm_min()), 0);  // of bfloat16 too
}

// float8_e8m0fnu is a scale: no sign, no zero, no fraction.
TEST(SmallFloat, ScaleFormat) {
  for (std::uint32_t bits = 0; bits < 255; ++bits) {
    const double value = std::ldexp(1.0, static_cast<int>(bits) - 127);
    EXPECT_EQ(Float8E8M0FNU::decode(static_cast<std::uint8_t>(bits)), value);
    EXPECT_EQ(Float8E8M0FNU::encode(value), bits);
    EXPECT_EQ(Float8E8M0FNU::encode(static_cast<float>(value)), bits);
    if (bits == 0) continue;
    // There is no fraction to be even, so ml_dtypes rounds ties up.
    EXPECT_EQ(Float8E8M0FNU::encode(value * 1.5), bits + 1);
    EXPECT_EQ(Float8E8M0FNU::encode(value * 1.4999), bits);
  }
  EXPECT_TRUE(std::isnan(Float8E8M0FNU::decode(255)));
  for (const float odd : {0.0f, -0.0f, -1.0f, INFINITY, -INFINITY, NAN, 0x1.8p127f}) {
    EXPECT_EQ(Float8E8M0FNU::encode(odd), 255) << odd;
  }
  EXPECT_EQ(Float8E8M0FNU::encode(0x1p-140f), 0);
}

TEST(SmallFloat, IsConstexpr) {
  static_assert(Half::encode(1.0f) == 0x3C00);
  static_assert(Half::decode(0x3C00) == 1.0f);
  static_assert(BFloat16::decode(0x0001) == 0x1p-133f);
  static_assert(Float8E4M3FN::encode(1e9) == 0x7F);
}

}  // namespace
}  // namespace ashore
