// Casts: known answers of NumPy and ml_dtypes, and ashore's own rule where theirs are undefined.
// (tests/python compares every pair of dtypes with the installed NumPy and ml_dtypes.)
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cast_answers.hpp"
#include "convert/convert.hpp"
#include "support/strided.hpp"

namespace ashore {
namespace {

using testing::row_of;
using testing::StridedArray;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Cast a list of values, and return what comes out.
template <typename To, typename From>
std::vector<To> cast(DType from, DType to, const std::vector<From>& values) {
  StridedArray source = row_of(from, values);
  const auto count = static_cast<std::int64_t>(values.size() * sizeof(From) / size_bytes(from));
  ArrayView view = source.view();
  const auto step = static_cast<std::int64_t>(size_bytes(from));
  view.layout = {1, &count, &step};
  StridedArray destination(to,
                           Layout::row_major({count}, static_cast<std::int64_t>(size_bytes(to))));
  EXPECT_TRUE(convert(view, destination.view()).ok());
  std::vector<To> result(static_cast<std::size_t>(count) * size_bytes(to) / sizeof(To));
  std::memcpy(result.data(), destination.view().data, result.size() * sizeof(To));
  return result;
}

template <typename T, std::size_t kCount>
void expect_answers(DType from, const CastAnswer<T> (&answers)[kCount]) {
  for (std::size_t i = 0; i < std::size(kAnswerDTypes); ++i) {
    const DType to = *dtype_from_name(kAnswerDTypes[i]);
    for (const CastAnswer<T>& answer : answers) {
      const auto bytes = cast<std::uint8_t>(from, to, std::vector<T>{answer.value});
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes.data(), bytes.size());
      EXPECT_EQ(bits, answer.bits[i]) << answer.value << " to " << name(to);
    }
  }
}

TEST(Cast, Float64ByNumPyAndMlDtypes) { expect_answers(DType::kFloat64, kFloat64Answers); }

TEST(Cast, Int64ByNumPyAndMlDtypes) { expect_answers(DType::kInt64, kInt64Answers); }

TEST(Cast, ComplexPartsPassThroughFloat32OnTheWayToHalf) {
  // Just above a tie in float64, a tie in float32: ml_dtypes rounds twice, NumPy's float16 once.
  const double value = 1 + 0x1p-11 + 0x1p-30;
  EXPECT_EQ(cast<std::uint16_t>(DType::kFloat64, DType::kFloat16, std::vector{value})[0], 0x3C01);
  EXPECT_EQ((cast<std::uint16_t>(DType::kComplex128, DType::kComplex32, std::vector{value, value})),
            (std::vector<std::uint16_t>{0x3C00, 0x3C00}));
  EXPECT_EQ(cast<std::uint16_t>(DType::kLongDouble, DType::kFloat16,
                                std::vector{static_cast<long double>(value)})[0],
            0x3C00);
}

TEST(Cast, EveryHalfAndBFloat16PatternWidensExactly) {
  std::vector<std::uint16_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  const auto brains = cast<std::uint32_t>(DType::kBFloat16, DType::kFloat32, patterns);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::uint32_t expected = static_cast<std::uint32_t>(i) << 16;
    const bool nan = (expected & 0x7FFF'FFFF) > 0x7F80'0000;
    ASSERT_TRUE(nan ? (brains[i] & 0x7FFF'FFFF) > 0x7F80'0000 : brains[i] == expected) << i;
  }
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const DType wide : {DType::kFloat32, DType::kFloat64, DType::kLongDouble}) {
      const auto there = cast<std::uint8_t>(dtype, wide, patterns);
      const auto back = cast<std::uint16_t>(wide, dtype, there);
      for (std::size_t i = 0; i < patterns.size(); ++i) {
        const std::uint16_t infinity = dtype == DType::kFloat16 ? 0x7C00 : 0x7F80;
        const bool nan = (patterns[i] & 0x7FFF) > infinity;
        ASSERT_TRUE(nan ? (back[i] & 0x7FFF) > infinity : back[i] == patterns[i]) << i;
      }
    }
  }
}

TEST(Cast, EveryByteFormatWidensAndComesBack) {
  std::vector<std::uint8_t> patterns(256);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint8_t>(i);
  for (int i = static_cast<int>(DType::kFloat8E3M4); i <= static_cast<int>(DType::kUInt4); ++i) {
    const auto dtype = static_cast<DType>(i);
    const auto wide = cast<double>(dtype, DType::kFloat64, patterns);
    const auto narrow = cast<float>(dtype, DType::kFloat32, patterns);
    const auto back = cast<std::uint8_t>(DType::kFloat64, dtype, wide);
    const std::size_t valid = std::size_t{1} << info(dtype).bits;
    for (std::size_t bits = 0; bits < valid; ++bits) {
      if (wide[bits] != wide[bits]) {
        ASSERT_NE(narrow[bits], narrow[bits]);
      } else {
        ASSERT_EQ(wide[bits], double{narrow[bits]});
        ASSERT_EQ(back[bits], bits) << name(dtype);
      }
    }
  }
}

TEST(Cast, FloatsAreCutOffAndSaturate) {
  const std::vector<double> values = {0.9,    -0.9,      1.5,        -1.5,   126.99, 127.99,
                                      128,    -128.99,   -129,       255.99, 256,    1e300,
                                      -1e300, kInfinity, -kInfinity, kNan,   7.9,    -8.9};
  EXPECT_EQ((cast<std::int8_t>(DType::kFloat64, DType::kInt8, values)),
            (std::vector<std::int8_t>{0, 0, 1, -1, 126, 127, 127, -128, -128, 127, 127, 127, -128,
                                      127, -128, 0, 7, -8}));
  EXPECT_EQ((cast<std::uint8_t>(DType::kFloat64, DType::kUInt8, values)),
            (std::vector<std::uint8_t>{0, 0, 1, 0, 126, 127, 128, 0, 0, 255, 255, 255, 0, 255, 0, 0,
                                       7, 0}));
  // The low four bits are the value.
  EXPECT_EQ((cast<std::uint8_t>(DType::kFloat64, DType::kInt4, values)),
            (std::vector<std::uint8_t>{0, 0, 1, 15, 7, 7, 7, 8, 8, 7, 7, 7, 8, 7, 8, 0, 7, 8}));
  EXPECT_EQ((cast<std::uint8_t>(DType::kFloat64, DType::kUInt1, values)),
            (std::vector<std::uint8_t>{0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 0}));
}

TEST(Cast, SaturationAtTheEdgesOfWideIntegers) {
  const std::vector<double> values = {0x1p63, 0x1.fffffffffffffp62, -0x1p63, -0x1.0000000000001p63,
                                      0x1p64, 0x1.fffffffffffffp63};
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ((cast<std::int64_t>(DType::kFloat64, DType::kInt64, values)),
            (std::vector<std::int64_t>{kMax, 0x7FFF'FFFF'FFFF'FC00, kMin, kMin, kMax, kMax}));
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ((cast<std::uint64_t>(DType::kFloat64, DType::kUInt64, values)),
            (std::vector<std::uint64_t>{std::uint64_t{1} << 63, 0x7FFF'FFFF'FFFF'FC00, 0, 0, kMost,
                                        0xFFFF'FFFF'FFFF'F800}));
  const std::vector<long double> wide = {0x1.fffffffffffffffep63L, 0x1p64L, -0x1p200L};
  EXPECT_EQ((cast<std::uint64_t>(DType::kLongDouble, DType::kUInt64, wide)),
            (std::vector<std::uint64_t>{kMost, kMost, 0}));
}

TEST(Cast, IntegersWrap) {
  const std::vector<std::int32_t> values = {0, 1, -1, 127, 128, 255, 256, -129, 65535, 1 << 30};
  EXPECT_EQ((cast<std::int8_t>(DType::kInt32, DType::kInt8, values)),
            (std::vector<std::int8_t>{0, 1, -1, 127, -128, -1, 0, 127, -1, 0}));
  EXPECT_EQ((cast<std::uint16_t>(DType::kInt32, DType::kUInt16, values)),
            (std::vector<std::uint16_t>{0, 1, 65535, 127, 128, 255, 256, 65407, 65535, 0}));
  EXPECT_EQ((cast<std::uint64_t>(DType::kInt32, DType::kUInt64, std::vector<std::int32_t>{-2})),
            (std::vector<std::uint64_t>{0xFFFF'FFFF'FFFF'FFFE}));
  EXPECT_EQ((cast<std::uint8_t>(DType::kInt32, DType::kInt2, std::vector<std::int32_t>{5, -1, 2})),
            (std::vector<std::uint8_t>{1, 3, 2}));
}

TEST(Cast, TinyIntegersIgnoreTheBitsAboveThem) {
  EXPECT_EQ((cast<std::int32_t>(DType::kInt4, DType::kInt32,
                                std::vector<std::uint8_t>{0xF7, 0xF8, 0x0F, 0x10})),
            (std::vector<std::int32_t>{7, -8, -1, 0}));
  EXPECT_EQ((cast<std::int32_t>(DType::kUInt2, DType::kInt32, std::vector<std::uint8_t>{0xFF, 4})),
            (std::vector<std::int32_t>{3, 0}));
  EXPECT_EQ((cast<std::int32_t>(DType::kInt1, DType::kInt32, std::vector<std::uint8_t>{1, 2})),
            (std::vector<std::int32_t>{-1, 0}));
}

TEST(Cast, Bools) {
  EXPECT_EQ((cast<std::uint8_t>(DType::kFloat64, DType::kBool,
                                std::vector<double>{0, -0.0, kNan, 1e-300, -kInfinity})),
            (std::vector<std::uint8_t>{0, 0, 1, 1, 1}));
  EXPECT_EQ(
      (cast<std::uint8_t>(DType::kInt64, DType::kBool, std::vector<std::int64_t>{0, 256, -1})),
      (std::vector<std::uint8_t>{0, 1, 1}));
  EXPECT_EQ((cast<float>(DType::kBool, DType::kFloat32, std::vector<std::uint8_t>{0, 1, 2, 255})),
            (std::vector<float>{0, 1, 1, 1}));
  EXPECT_EQ(
      (cast<std::uint8_t>(DType::kFloat8E8M0FNU, DType::kBool, std::vector<std::uint8_t>{0, 255})),
      (std::vector<std::uint8_t>{1, 1}));
}

TEST(Cast, ComplexTakesRealsWithZeroImaginaryParts) {
  EXPECT_EQ((cast<float>(DType::kUInt64, DType::kComplex64,
                         std::vector<std::uint64_t>{3, std::uint64_t{1} << 63})),
            (std::vector<float>{3, 0, 0x1p63f, 0}));
  EXPECT_EQ((cast<double>(DType::kComplex64, DType::kComplex128, std::vector<float>{1.5f, -2.5f})),
            (std::vector<double>{1.5, -2.5}));
  // ml_dtypes 0.6 makes 1 of every value but 0 here, through its operator bool. ashore keeps the
  // value.
  EXPECT_EQ((cast<std::uint16_t>(DType::kComplex32, DType::kBComplex32,
                                 std::vector<std::uint16_t>{0x4000, 0xC200})),
            (std::vector<std::uint16_t>{0x4000, 0xC040}));
}

TEST(Cast, LongDoublePaddingIsZero) {
  const auto bytes = cast<std::uint8_t>(DType::kFloat32, DType::kLongDouble, std::vector<float>{1});
  long double value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  EXPECT_EQ(value, 1.0L);
  if (std::numeric_limits<long double>::digits != 64) return;
  for (std::size_t i = 10; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], 0);
}

TEST(Cast, EveryPairKeepsZeroAndOne) {
  for (int from = 0; from <= static_cast<int>(DType::kUInt4); ++from) {
    for (int to = 0; to <= static_cast<int>(DType::kUInt4); ++to) {
      const auto a = static_cast<DType>(from);
      const auto b = static_cast<DType>(to);
      if (!cast_exists(a, b)) continue;
      // int1 has no 1, and the scale format no 0.
      const bool no_one = a == DType::kInt1 || b == DType::kInt1;
      const bool no_zero = a == DType::kFloat8E8M0FNU || b == DType::kFloat8E8M0FNU;
      const auto there = cast<std::uint8_t>(DType::kInt8, a, std::vector<std::int8_t>{0, 1});
      const auto over = cast<std::uint8_t>(a, b, there);
      const auto expected = cast<std::uint8_t>(DType::kInt8, b, std::vector<std::int8_t>{0, 1});
      const std::size_t item = size_bytes(b);
      SCOPED_TRACE(std::string(name(a)) + " to " + std::string(name(b)));
      EXPECT_TRUE(no_zero || std::memcmp(over.data(), expected.data(), item) == 0);
      EXPECT_TRUE(no_one || std::memcmp(over.data() + item, expected.data() + item, item) == 0);
    }
  }
}

}  // namespace
}  // namespace ashore
