// Layouts whose tiles are odd: few columns, few rows, small planes, repeated axes, tiles that go on
// in the destination. Each level against one element at a time, on one thread and on three.
#include <gtest/gtest.h>
#include <ashore/threads.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "convert/convert.hpp"
#include "convert/stage.hpp"
#include "support/levels.hpp"
#include "support/strided.hpp"

namespace ashore {
namespace {

using testing::pick;
using testing::Rng;
using testing::StridedArray;

using Shape = std::vector<std::int64_t>;
using Order = std::vector<int>;

class Moves : public testing::LevelTest {
 protected:
  void TearDown() override {
    EXPECT_TRUE(set_num_threads(threads_before_).ok());
    LevelTest::TearDown();
  }

 private:
  int threads_before_ = num_threads();
};
INSTANTIATE_TEST_SUITE_P(Cast, Moves, ::testing::ValuesIn(host::kSimdLevels), testing::level_name);

// A layout with the axes in `order` in memory, slowest first, and a gap behind each innermost run.
Layout layout_in(const Shape& shape, const Order& order, std::int64_t item, std::int64_t gap = 0) {
  Layout layout;
  layout.ndim = static_cast<int>(shape.size());
  std::int64_t stride = item;
  for (std::size_t i = order.size(); i-- > 0;) {
    const int axis = order[i];
    layout.shape[axis] = shape[static_cast<std::size_t>(axis)];
    layout.strides_bytes[axis] = stride;
    stride *= layout.shape[axis];
    if (i + 1 == order.size()) stride += gap * item;
  }
  return layout;
}

Order row_major(std::size_t ndim) {
  Order order(ndim);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Convert and compare with one staged cast, or one copy, for each element.
void expect_moved(DType from, DType to, const Layout& source_layout, const Layout& target,
                  Memory memory, bool is_swapped = false) {
  Rng rng(7);
  StridedArray source(from, source_layout, 8), got(to, target, 16), expected(to, target, 16);
  source.randomise(rng);
  ArrayView view = source.view();
  view.byte_swapped = is_swapped;
  const CastJob job{from, to, is_swapped && size_bytes(part_dtype(from)) > 1};
  std::vector<std::int64_t> places;
  testing::for_each_offset(target.view(), [&](std::int64_t offset) { places.push_back(offset); });
  std::size_t place = 0;
  testing::for_each_offset(view.layout, [&](std::int64_t offset) {
    const char* element = static_cast<const char*>(view.data) + offset;
    char* out = static_cast<char*>(expected.view().data) + places[place++];
    if (from != to) return staged_cast(job, {element, 0, out, 0, 1});
    std::memcpy(out, element, size_bytes(from));
    if (job.source_swapped) std::reverse(out, out + size_bytes(from));
  });
  ASSERT_TRUE(convert(view, got.view(), {}, memory).ok());
  for (std::size_t i = 0; i < places.size(); ++i) {
    ASSERT_EQ(std::memcmp(static_cast<char*>(got.view().data) + places[i],
                          static_cast<char*>(expected.view().data) + places[i], size_bytes(to)),
              0)
        << name(from) << " to " << name(to) << ", element " << i << ", "
        << describe_kernels(view, got.view());
  }
  const auto untouched = std::count(got.memory().begin(), got.memory().end(), 0xA5);
  ASSERT_EQ(untouched, std::count(expected.memory().begin(), expected.memory().end(), 0xA5));
}

constexpr std::pair<DType, DType> kPairs[] = {
    {DType::kUInt8, DType::kUInt8},           {DType::kInt16, DType::kInt16},
    {DType::kFloat32, DType::kFloat32},       {DType::kInt64, DType::kInt64},
    {DType::kComplex128, DType::kComplex128}, {DType::kFloat64, DType::kInt64},
    {DType::kFloat64, DType::kInt8},          {DType::kInt16, DType::kComplex64},
    {DType::kBFloat16, DType::kInt32},        {DType::kInt8, DType::kUInt8},
    {DType::kUInt8, DType::kFloat64},
};

// Every order of the axes in memory, of shapes with short axes around a long one: large enough for
// tiles of the closest axis, and small.
TEST_P(Moves, ShortAxesInEveryOrder) {
  const Shape shapes[] = {{4, 9001, 2},   {2, 5003, 7}, {3, 4111, 16}, {17, 1021, 3},
                          {5, 3, 401, 4}, {2, 3, 5, 7}, {9, 8, 33},    {1, 5, 1999}};
  int round = 0;
  for (const Shape& shape : shapes) {
    Order order = row_major(shape.size());
    do {
      ASSERT_TRUE(set_num_threads(round % 2 == 0 ? 1 : 3).ok());
      const auto [from, to] = kPairs[static_cast<std::size_t>(round) % std::size(kPairs)];
      const Layout source = layout_in(shape, order, static_cast<std::int64_t>(size_bytes(from)));
      const std::int64_t gap = round % 5 == 4 ? 3 : 0;
      const Layout target =
          layout_in(shape, row_major(shape.size()), static_cast<std::int64_t>(size_bytes(to)), gap);
      const Memory memory = round % 3 == 0 ? Memory::kPassed : Memory::kFresh;
      SCOPED_TRACE("round " + std::to_string(round));
      expect_moved(from, to, source, target, memory);
      if (HasFatalFailure()) return;
      ++round;
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

// The same with some axes backwards, stepping or repeated.
TEST_P(Moves, ShortAxesWithStepsFlipsAndRepeats) {
  Rng rng(11);
  for (int round = 0; round < 250; ++round) {
    ASSERT_TRUE(set_num_threads(round % 2 == 0 ? 1 : 3).ok());
    const auto ndim = static_cast<std::size_t>(pick(rng, 2, 5));
    Shape shape(ndim);
    for (std::int64_t& length : shape) length = pick(rng, 1, 9);
    shape[static_cast<std::size_t>(pick(rng, 0, static_cast<std::int64_t>(ndim) - 1))] =
        pick(rng, 1, ndim < 4 ? 2000 : 60);
    Order order = row_major(ndim);
    std::shuffle(order.begin(), order.end(), rng);
    const auto [from, to] = kPairs[static_cast<std::size_t>(round) % std::size(kPairs)];
    Layout source = layout_in(shape, order, static_cast<std::int64_t>(size_bytes(from)));
    for (int axis = 0; axis < source.ndim; ++axis) {
      const std::int64_t factors[] = {1,  1, 1,
                                      -1, 0, 3};  // 3: elements overlap others', to be read
      source.strides_bytes[axis] *= factors[pick(rng, 0, 5)];
    }
    const Layout target =
        layout_in(shape, row_major(ndim), static_cast<std::int64_t>(size_bytes(to)));
    SCOPED_TRACE("round " + std::to_string(round));
    expect_moved(from, to, source, target, round % 3 == 0 ? Memory::kPassed : Memory::kFresh,
                 round % 4 == 3 && !is_complex(from));
    if (HasFatalFailure()) return;
  }
}

// One element for a whole row, cast once: more rows than the scratch has room for, and other bytes.
TEST_P(Moves, RepeatedElementsAreCastOnce) {
  for (const bool is_swapped : {false, true}) {
    for (const std::int64_t cols : {2, 3, 64, 30'000}) {
      const std::int64_t rows = cols > 100 ? 3 : 5000;
      Layout source = Layout::row_major({2, rows, cols}, 4);
      source.strides_bytes[0] = rows * 4;
      source.strides_bytes[1] = 4;
      source.strides_bytes[2] = 0;
      for (const DType to : {DType::kFloat32, DType::kBFloat16, DType::kComplex128}) {
        const Layout target =
            Layout::row_major({2, rows, cols}, static_cast<std::int64_t>(size_bytes(to)));
        for (const Memory memory : {Memory::kFresh, Memory::kPassed}) {
          expect_moved(DType::kFloat32, to, source, target, memory, is_swapped);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Move, IntegersOfOneWidthAreCopied) {
  StridedArray source(DType::kInt16, Layout::row_major({3, 5}, 2));
  StridedArray same(DType::kUInt16, Layout::row_major({3, 5}, 2));
  StridedArray other(DType::kFloat16, Layout::row_major({3, 5}, 2));
  EXPECT_EQ(describe_kernels(source.view(), same.view()).rfind("compact copy", 0), 0U);
  EXPECT_EQ(describe_kernels(source.view(), other.view()).rfind("compact cast", 0), 0U);
  ArrayView swapped = source.view();
  swapped.byte_swapped = true;
  EXPECT_EQ(describe_kernels(swapped, same.view()).rfind("compact swap", 0), 0U);
}

}  // namespace
}  // namespace ashore
