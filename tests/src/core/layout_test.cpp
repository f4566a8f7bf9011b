// Layouts: contiguity, NumPy's "K" order, and the search for overlap against brute force.
#include <gtest/gtest.h>
#include <ashore/layout.hpp>

#include <cstdint>
#include <set>
#include <vector>

#include "support/strided.hpp"

namespace ashore {
namespace {

using testing::pick;
using testing::Rng;
using Axes = std::vector<std::int64_t>;

LayoutView view_of(const Axes& shape, const Axes& strides) {
  return {static_cast<int>(shape.size()), shape.data(), strides.data()};
}

Axes strides_of(const Layout& layout) {
  return Axes(layout.strides_bytes, layout.strides_bytes + layout.ndim);
}

TEST(Layout, RowMajor) {
  const Layout layout = Layout::row_major({2, 3, 4}, 8);
  EXPECT_EQ(strides_of(layout), (Axes{96, 32, 8}));
  EXPECT_EQ(count_elems(layout.view()), 24);
  EXPECT_EQ(Layout::row_major({}, 8).ndim, 0);
  EXPECT_EQ(count_elems(Layout::row_major({}, 8).view()), 1);
  EXPECT_EQ(count_elems(Layout::row_major({3, 0, 2}, 8).view()), 0);
}

TEST(Layout, CopiesMoveTheUsedPart) {
  Layout first = Layout::row_major({2, 3}, 4);
  Layout second(first);
  first.shape[0] = 99;
  EXPECT_EQ(second.shape[0], 2);
  Layout third;
  third = second;
  third = *&third;
  EXPECT_EQ(strides_of(third), (Axes{12, 4}));
}

TEST(Layout, IsRowMajor) {
  EXPECT_TRUE(is_row_major(view_of({}, {}), 4));
  EXPECT_TRUE(is_row_major(view_of({2, 3}, {12, 4}), 4));
  EXPECT_FALSE(is_row_major(view_of({2, 3}, {4, 8}), 4));
  EXPECT_FALSE(is_row_major(view_of({2, 3}, {16, 4}), 4));
  EXPECT_FALSE(is_row_major(view_of({3}, {-4}), 4));
  EXPECT_FALSE(is_row_major(view_of({3}, {0}), 4));
  // Axes of length 1 do not count, nor does anything without elements.
  EXPECT_TRUE(is_row_major(view_of({1, 3, 1}, {-7, 4, 1000}), 4));
  EXPECT_TRUE(is_row_major(view_of({5, 0, 3}, {1, 2, 3}), 4));
  EXPECT_TRUE(is_row_major(view_of({0, 5}, {1, 2}), 4));
}

struct KeepCase {
  Axes shape;
  Axes strides;
  Axes expected;  // what numpy.empty_like(order="K") 2.4 gives for items of 4 bytes
};

TEST(Layout, CompactKeepsTheOrderOfAxesAsNumPyDoes) {
  const KeepCase cases[] = {
      {{}, {}, {}},
      {{3}, {-4}, {4}},
      {{2, 3}, {12, 4}, {12, 4}},
      {{2, 3}, {4, 8}, {4, 8}},               // column-major
      {{2, 3, 4}, {16, 32, 4}, {16, 32, 4}},  // a permutation
      {{2, 3, 4}, {-16, 32, -4}, {16, 32, 4}},
      {{2, 3}, {100, 4}, {12, 4}},  // a slice
      {{2, 3}, {0, 4}, {4, 8}},     // expanded: stride 0 sorts last
      {{2, 3}, {0, 0}, {12, 4}},    // a tie keeps the order of axes
      {{2, 1, 3}, {4, 0, 8}, {4, 8, 8}},
      {{2, 0, 3}, {4, 8, 8}, {0, 0, 0}},  // no elements
      {{1, 5}, {-48, 96}, {4, 4}},
  };
  for (const KeepCase& row : cases) {
    SCOPED_TRACE(::testing::PrintToString(row.shape) + ::testing::PrintToString(row.strides));
    Layout out;
    compact_layout(view_of(row.shape, row.strides), Order::kKeep, 4, out);
    EXPECT_EQ(strides_of(out), row.expected);
    EXPECT_EQ(Axes(out.shape, out.shape + out.ndim), row.shape);
  }
}

TEST(Layout, CompactOfItself) {
  Layout layout = Layout::row_major({2, 3}, 4);
  std::swap(layout.strides_bytes[0], layout.strides_bytes[1]);
  compact_layout(layout.view(), Order::kRowMajor, 8, layout);
  EXPECT_EQ(strides_of(layout), (Axes{24, 8}));
}

TEST(Layout, CompactRandomLayoutsHasNoGapsAndNoOverlap) {
  Rng rng(1);
  for (int i = 0; i < 2000; ++i) {
    const Axes shape = testing::random_shape(rng, 200);
    const Layout source = testing::random_source_layout(rng, shape, 4);
    for (const Order order : {Order::kKeep, Order::kRowMajor}) {
      Layout out;
      compact_layout(source.view(), order, 8, out);
      std::set<std::int64_t> offsets;
      testing::for_each_offset(out.view(), [&](std::int64_t offset) { offsets.insert(offset); });
      ASSERT_EQ(static_cast<std::int64_t>(offsets.size()), count_elems(out.view()));
      if (offsets.empty()) continue;
      EXPECT_EQ(*offsets.begin(), 0);
      EXPECT_EQ(*offsets.rbegin(), 8 * (count_elems(out.view()) - 1));
      EXPECT_TRUE(order == Order::kKeep || is_row_major(out.view(), 8));
    }
  }
}

// Mark each byte of each element; a byte marked twice is an overlap.
bool overlaps_by_marking(LayoutView layout, std::int64_t item) {
  std::set<std::int64_t> bytes;
  bool overlaps = false;
  testing::for_each_offset(layout, [&](std::int64_t offset) {
    for (std::int64_t byte = 0; byte < item; ++byte) {
      overlaps |= !bytes.insert(offset + byte).second;
    }
  });
  return overlaps;
}

TEST(Layout, InternalOverlapAgainstBruteForce) {
  Rng rng(2);
  int overlapping = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t item = std::int64_t{1} << pick(rng, 0, 3);
    Axes shape(static_cast<std::size_t>(pick(rng, 0, 4)));
    Axes strides(shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      shape[axis] = pick(rng, 0, 20) == 0 ? 0 : pick(rng, 1, 5);
      strides[axis] = pick(rng, -40, 40) * (pick(rng, 0, 1) == 0 ? 1 : item);
    }
    const bool expected = overlaps_by_marking(view_of(shape, strides), item);
    overlapping += expected ? 1 : 0;
    ASSERT_EQ(has_internal_overlap(view_of(shape, strides), item), expected)
        << ::testing::PrintToString(shape) << ::testing::PrintToString(strides) << item;
  }
  EXPECT_GT(overlapping, 1000);
  EXPECT_LT(overlapping, 19000);
}

TEST(Layout, InternalOverlapOfKnownViews) {
  EXPECT_FALSE(has_internal_overlap(view_of({}, {}), 4));
  EXPECT_TRUE(has_internal_overlap(view_of({3, 4}, {0, 4}), 4));    // expand
  EXPECT_FALSE(has_internal_overlap(view_of({1, 4}, {0, 4}), 4));   // contract N3
  EXPECT_FALSE(has_internal_overlap(view_of({0, 4}, {0, 0}), 4));   // no elements
  EXPECT_TRUE(has_internal_overlap(view_of({5, 3}, {4, 4}), 4));    // unfold(step=1)
  EXPECT_FALSE(has_internal_overlap(view_of({5, 3}, {12, 4}), 4));  // unfold(step=3)
  EXPECT_TRUE(has_internal_overlap(view_of({2}, {3}), 4));          // elements share a byte
  EXPECT_FALSE(has_internal_overlap(view_of({2, 2, 2}, {4, 12, 20}), 4));
  EXPECT_TRUE(has_internal_overlap(view_of({2, 2, 2}, {4, 12, 16}), 4));  // 4 + 12 = 16
}

TEST(Layout, InternalOverlapSearchIsExactUntilItGivesUp) {
  // Strides without a pattern, far larger than the number of sums: no two elements meet, but only
  // trying the sums can tell. Five axes are told exactly; thirteen take too long, and count as
  // overlapping.
  Rng rng(9);
  Axes shape(13, 3);
  Axes strides(13);
  for (std::int64_t& stride : strides)
    stride = pick(rng, std::int64_t{1} << 50, std::int64_t{1} << 51);
  EXPECT_FALSE(has_internal_overlap({5, shape.data(), strides.data()}, 8));
  EXPECT_TRUE(has_internal_overlap(view_of(shape, strides), 8));
}

TEST(Layout, SixtyFourAxes) {
  Axes shape(kMaxDims, 1);
  Axes strides(kMaxDims, 0);
  for (std::size_t axis = 0; axis < 20; ++axis) {
    shape[3 * axis] = 2;
    strides[3 * axis] = std::int64_t{4} << axis;
  }
  EXPECT_FALSE(has_internal_overlap(view_of(shape, strides), 4));
  strides[57] = 4;
  EXPECT_TRUE(has_internal_overlap(view_of(shape, strides), 4));
  Layout out;
  compact_layout(view_of(shape, strides), Order::kKeep, 8, out);
  EXPECT_EQ(count_elems(out.view()), std::int64_t{1} << 20);
  EXPECT_FALSE(has_internal_overlap(out.view(), 8));
}

}  // namespace
}  // namespace ashore
