// The codec template: every pattern of every format against the formats' definitions.
#include "convert/small_float.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
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

// One format: its name, what its specification says, and our codec of it.
struct Format {
  const char* name;
  Spec spec;
  float (*decode)(std::uint32_t bits);
  std::uint32_t (*encode_float)(float value);
  std::uint32_t (*encode_double)(double value);

  std::uint32_t encode(float value) const { return encode_float(value); }
  std::uint32_t encode(double value) const { return encode_double(value); }
};

// The codecs are templates; the tests are not, for the compilers' sake.
template <typename Codec>
Format format(const char* name, Spec spec) {
  return {name, spec,
          [](std::uint32_t bits) { return Codec::decode(static_cast<typename Codec::Bits>(bits)); },
          [](float value) { return std::uint32_t{Codec::encode(value)}; },
          [](double value) { return std::uint32_t{Codec::encode(value)}; }};
}

std::vector<Format> formats() {
  return {
      format<Half>("Half", {5, 10, 15, 65504, 0x7C00, 0x7E00}),
      format<BFloat16>("BFloat16", {8, 7, 127, 0x1.FEp127, 0x7F80, 0x7FC0}),
      format<Float8E3M4>("Float8E3M4", {3, 4, 3, 15.5, 0x70, 0x78}),
      format<Float8E4M3>("Float8E4M3", {4, 3, 7, 240, 0x78, 0x7C}),
      format<Float8E4M3B11FNUZ>("Float8E4M3B11FNUZ", {4, 3, 11, 30, 0x80, 0x80, false}),
      format<Float8E4M3FN>("Float8E4M3FN", {4, 3, 7, 448, 0x7F, 0x7F}),
      format<Float8E4M3FNUZ>("Float8E4M3FNUZ", {4, 3, 8, 240, 0x80, 0x80, false}),
      format<Float8E5M2>("Float8E5M2", {5, 2, 15, 57344, 0x7C, 0x7E}),
      format<Float8E5M2FNUZ>("Float8E5M2FNUZ", {5, 2, 16, 57344, 0x80, 0x80, false}),
      format<Float6E2M3FN>("Float6E2M3FN", {2, 3, 1, 7.5, 0x1F, 0x20}),
      format<Float6E3M2FN>("Float6E3M2FN", {3, 2, 3, 28, 0x1F, 0x20}),
      format<Float4E2M1FN>("Float4E2M1FN", {2, 1, 1, 6, 0x7, 0x8}),
  };
}

// The value of a magnitude by the textbook formula.
double textbook(const Spec& spec, std::uint32_t magnitude) {
  const int exponent = static_cast<int>(magnitude >> spec.mantissa_bits);
  const double fraction = magnitude & ((1u << spec.mantissa_bits) - 1);
  const int shift = (exponent == 0 ? 1 : exponent) - spec.bias - spec.mantissa_bits;
  return std::ldexp(fraction + (exponent == 0 ? 0 : std::ldexp(1.0, spec.mantissa_bits)), shift);
}

class SmallFloatTest : public ::testing::TestWithParam<Format> {};

INSTANTIATE_TEST_SUITE_P(Formats, SmallFloatTest, ::testing::ValuesIn(formats()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(SmallFloatTest, DecodesEveryPattern) {
  const Format& format = GetParam();
  const Spec& spec = format.spec;
  const int magnitude_bits = spec.exponent_bits + spec.mantissa_bits;
  const std::uint32_t sign = 1u << magnitude_bits;
  int finite = 0;
  for (std::uint32_t bits = 0; bits < 2 * sign; ++bits) {
    const float value = format.decode(bits);
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

TEST_P(SmallFloatTest, EncodesEveryPatternBack) {
  const Format& format = GetParam();
  const Spec& spec = format.spec;
  const std::uint32_t patterns = 2u << (spec.exponent_bits + spec.mantissa_bits);
  for (std::uint32_t bits = 0; bits < patterns; ++bits) {
    const float value = format.decode(bits);
    const std::uint32_t narrow = format.encode(value);
    const std::uint32_t narrow_double = format.encode(static_cast<double>(value));
    ASSERT_EQ(narrow, narrow_double) << bits;
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(format.decode(narrow))) << bits;
    } else {
      ASSERT_EQ(narrow, bits);
    }
  }
}

// Between two neighbours the midpoint goes to the even pattern, and whatever lies beside it to the
// nearer.
template <typename Wide>
void expect_nearest_even(const Format& format) {
  const Spec& spec = format.spec;
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
    ASSERT_EQ(format.encode(middle), even) << low;
    ASSERT_EQ(format.encode(after), high_bits) << low;
    ASSERT_EQ(format.encode(before), low) << low;
    if (spec.signed_zero) {
      ASSERT_EQ(format.encode(-middle), even | sign) << low;
      ASSERT_EQ(format.encode(-before), low | sign) << low;
    } else {  // no -0, and the NaN has no sign of its own
      ASSERT_EQ(format.encode(-middle), even == 0 ? 0 : even | sign) << low;
      ASSERT_EQ(format.encode(-before), low == 0 ? 0 : low | sign) << low;
    }
  }
}

TEST_P(SmallFloatTest, RoundsToNearestEvenFromFloat) { expect_nearest_even<float>(GetParam()); }

TEST_P(SmallFloatTest, RoundsToNearestEvenFromDouble) { expect_nearest_even<double>(GetParam()); }

TEST_P(SmallFloatTest, TopAndBottom) {
  const Format& format = GetParam();
  const Spec& spec = format.spec;
  const std::uint32_t sign = 1u << (spec.exponent_bits + spec.mantissa_bits);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(format.encode(std::numeric_limits<float>::max()), spec.overflow);
  EXPECT_EQ(format.encode(std::numeric_limits<double>::max()), spec.overflow);
  EXPECT_EQ(format.encode(INFINITY), spec.overflow);
  EXPECT_EQ(format.encode(-INFINITY), spec.overflow | sign);
  EXPECT_EQ(format.encode(nan), spec.nan);
  EXPECT_EQ(format.encode(0.0f), 0);
  EXPECT_EQ(format.encode(-0.0f), spec.signed_zero ? sign : 0);
  EXPECT_EQ(format.encode(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(format.encode(std::numeric_limits<float>::denorm_min()), 0);  // of bfloat16 too
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
