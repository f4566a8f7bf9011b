// Checked arithmetic: what overflows is told, never wrapped.
#include "core/checked.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace ashore {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

LayoutView view_of(const std::vector<std::int64_t>& shape,
                   const std::vector<std::int64_t>& strides) {
  return {static_cast<int>(shape.size()), shape.data(), strides.data()};
}

TEST(Checked, MultiplyAndAdd) {
  std::int64_t out = 0;
  EXPECT_TRUE(checked_multiply(kMax / 2, 2, out));
  EXPECT_EQ(out, kMax - 1);
  EXPECT_FALSE(checked_multiply(kMax / 2 + 1, 2, out));
  EXPECT_FALSE(checked_multiply(kMin, -1, out));
  EXPECT_TRUE(checked_add(kMax - 1, 1, out));
  EXPECT_EQ(out, kMax);
  EXPECT_FALSE(checked_add(kMax, 1, out));
  EXPECT_FALSE(checked_add(kMin, -1, out));
}

struct Case {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t item;
  bool fits;
  Extent extent;
};

TEST(Checked, Extent) {
  const Case cases[] = {
      {{}, {}, 8, true, {0, 8, 1}},
      {{3}, {8}, 8, true, {0, 24, 3}},
      {{3}, {-8}, 8, true, {-16, 8, 3}},
      {{3, 2}, {-100, 7}, 4, true, {-200, 11, 6}},
      {{5}, {0}, 4, true, {0, 4, 5}},
      {{1}, {kMin}, 4, true, {0, 4, 1}},
      {{0}, {kMax}, 4, true, {0, 0, 0}},
      {{0, 3}, {8, -8}, 8, true, {0, 0, 0}},
      {{-1}, {8}, 8, false, {}},
      {{kMin}, {8}, 8, false, {}},
      {{2}, {kMin}, 1, false, {}},
      {{2}, {kMax}, 1, false, {}},
      {{2}, {kMax - 1}, 1, true, {0, kMax, 2}},
      {{3, 3}, {kMax / 3, -(kMax / 3)}, 1, false, {}},  // each end fits, their distance does not
      {{kMax}, {0}, 2, false, {}},                      // compact bytes
      {{kMax, 2}, {0, 0}, 1, false, {}},                // count
      {{0, kMax, 2}, {1, 1, 1}, 1, false, {}},          // as NumPy: the empty axis is left out
      {{std::int64_t{1} << 31, std::int64_t{1} << 31}, {0, 0}, 2, false, {}},
      {{std::int64_t{1} << 31, std::int64_t{1} << 30},
       {0, 0},
       2,
       true,
       {0, 2, std::int64_t{1} << 61}},
  };
  for (const Case& row : cases) {
    SCOPED_TRACE(::testing::PrintToString(row.shape) + ::testing::PrintToString(row.strides));
    Extent extent;
    ASSERT_EQ(measure_extent(view_of(row.shape, row.strides), row.item, extent), row.fits);
    if (!row.fits) continue;
    EXPECT_EQ(extent.low, row.extent.low);
    EXPECT_EQ(extent.high, row.extent.high);
    EXPECT_EQ(extent.count, row.extent.count);
  }
}

}  // namespace
}  // namespace ashore
