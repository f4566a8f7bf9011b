// convert: random layouts, byte orders and dtypes against one element at a time, and its refusals.
#include "convert/convert.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/strided.hpp"

namespace ashore {
namespace {

using testing::pick;
using testing::Rng;
using testing::StridedArray;

constexpr DType kSome[] = {DType::kBool,         DType::kInt8,         DType::kUInt16,
                           DType::kInt32,        DType::kInt64,        DType::kUInt64,
                           DType::kFloat16,      DType::kBFloat16,     DType::kFloat32,
                           DType::kFloat64,      DType::kLongDouble,   DType::kComplex32,
                           DType::kComplex64,    DType::kComplex128,   DType::kComplexLongDouble,
                           DType::kFloat8E4M3FN, DType::kFloat4E2M1FN, DType::kInt4};

DType pick_dtype(Rng& rng) { return kSome[pick(rng, 0, std::size(kSome) - 1)]; }

ArrayView element_at(ArrayView view, std::int64_t offset) {
  view.data = static_cast<char*>(view.data) + offset;
  view.layout = {};
  return view;
}

// The naive reference: a conversion of its own for each element, into a copy of the memory.
void expect_same_as_one_by_one(StridedArray& source, StridedArray& destination, ArrayView from,
                               ArrayView to, Transform transform) {
  std::vector<unsigned char> before = destination.memory();
  ASSERT_TRUE(convert(from, to, transform).ok());
  const std::vector<unsigned char> result = destination.memory();

  destination.memory() = before;  // same size, so the addresses stay
  std::vector<std::int64_t> offsets;
  testing::for_each_offset(from.layout, [&](std::int64_t at) { offsets.push_back(at); });
  std::size_t next = 0;
  testing::for_each_offset(to.layout, [&](std::int64_t at) {
    ASSERT_TRUE(convert(element_at(from, offsets[next++]), element_at(to, at), transform).ok());
  });
  // Gaps between elements, too, are as they were.
  ASSERT_EQ(result, destination.memory()) << name(from.dtype) << " to " << name(to.dtype);
  (void)source;
}

TEST(Convert, RandomLayoutsAgainstOneElementAtATime) {
  Rng rng(4);
  int casts = 0;
  for (int i = 0; i < 4000; ++i) {
    const DType from = pick_dtype(rng);
    const DType to = pick(rng, 0, 2) == 0 ? from : pick_dtype(rng);
    if (!cast_exists(from, to)) continue;
    casts += from != to ? 1 : 0;
    const std::vector<std::int64_t> shape = testing::random_shape(rng, 400);
    const Layout source_layout =
        testing::random_source_layout(rng, shape, static_cast<std::int64_t>(size_bytes(from)));
    const Layout destination_layout =
        testing::random_layout(rng, shape, static_cast<std::int64_t>(size_bytes(to)));
    StridedArray source(from, source_layout, static_cast<std::size_t>(pick(rng, 0, 3)));
    StridedArray destination(to, destination_layout, static_cast<std::size_t>(pick(rng, 0, 3)));
    source.randomise(rng);
    ArrayView source_view = source.view();
    ArrayView destination_view = destination.view();
    source_view.byte_swapped = pick(rng, 0, 3) == 0;
    destination_view.byte_swapped = pick(rng, 0, 3) == 0;
    const Transform transform{pick(rng, 0, 3) == 0, pick(rng, 0, 3) == 0};
    expect_same_as_one_by_one(source, destination, source_view, destination_view, transform);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(casts, 1000);
}

TEST(Convert, LongRunsCrossBlocks) {
  // Longer than a block of the staged cast, and than two.
  for (const std::int64_t count : {255, 256, 257, 511, 513, 1000}) {
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i * 7);
    StridedArray source = testing::row_of(DType::kInt32, numbers);
    StridedArray destination(DType::kComplex64, Layout::row_major({count}, 8));
    ASSERT_TRUE(convert(source.view(), destination.view()).ok());
    const auto values = testing::values_of<std::array<float, 2>>(destination);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(values[i][0], static_cast<float>(numbers[i]));
      ASSERT_EQ(values[i][1], 0);
    }
  }
}

TEST(Convert, ByteSwapOfACopyTurnsEachPart) {
  StridedArray source = testing::row_of<std::uint8_t>(DType::kComplex64, {1, 2, 3, 4, 5, 6, 7, 8});
  StridedArray fixed(DType::kComplex64, Layout::row_major({1}, 8));
  ArrayView from = source.view();
  const std::int64_t one = 1;
  const std::int64_t stride = 8;
  from.layout = {1, &one, &stride};
  from.byte_swapped = true;
  ASSERT_TRUE(convert(from, fixed.view()).ok());
  EXPECT_EQ(std::memcmp(fixed.view().data, "\4\3\2\1\10\7\6\5", 8), 0);
}

TEST(Convert, NegateAndConjugate) {
  StridedArray source = testing::row_of<float>(DType::kComplex64, {1, 2, -0.0f, 0.0f});
  ArrayView from = source.view();
  const std::int64_t two = 2;
  const std::int64_t stride = 8;
  from.layout = {1, &two, &stride};
  struct Case {
    Transform transform;
    std::vector<float> expected;
  };
  const Case cases[] = {{{false, false}, {1, 2, -0.0f, 0.0f}},
                        {{true, false}, {1, -2, -0.0f, -0.0f}},
                        {{false, true}, {-1, -2, 0.0f, -0.0f}},
                        {{true, true}, {-1, 2, 0.0f, 0.0f}}};
  for (const Case& row : cases) {
    StridedArray destination(DType::kComplex64, Layout::row_major({2}, 8));
    ASSERT_TRUE(convert(from, destination.view(), row.transform).ok());
    EXPECT_EQ(std::memcmp(destination.view().data, row.expected.data(), 16), 0);
  }
}

TEST(Convert, NegatedIntegersWrapInTheirOwnWidthBeforeTheCast) {
  StridedArray source = testing::row_of<std::uint8_t>(DType::kUInt8, {0, 1, 5, 255});
  StridedArray wide(DType::kInt32, Layout::row_major({4}, 4));
  ASSERT_TRUE(convert(source.view(), wide.view(), {false, true}).ok());
  EXPECT_EQ(testing::values_of<std::int32_t>(wide), (std::vector<std::int32_t>{0, 255, 251, 1}));
  StridedArray small = testing::row_of<std::int8_t>(DType::kInt8, {-128, 127});
  StridedArray more(DType::kFloat32, Layout::row_major({2}, 4));
  ASSERT_TRUE(convert(small.view(), more.view(), {false, true}).ok());
  EXPECT_EQ(testing::values_of<float>(more), (std::vector<float>{-128, -127}));
}

TEST(Convert, ConjugationOfARealDtypeIsNothing) {
  StridedArray source = testing::row_of<float>(DType::kFloat32, {1, -2});
  StridedArray destination(DType::kFloat32, Layout::row_major({2}, 4));
  ASSERT_TRUE(convert(source.view(), destination.view(), {true, false}).ok());
  EXPECT_EQ(testing::values_of<float>(destination), (std::vector<float>{1, -2}));
}

TEST(Convert, SixtyFourAxes) {
  Layout source_layout;
  source_layout.ndim = kMaxDims;
  Layout destination_layout;
  destination_layout.ndim = kMaxDims;
  for (int axis = 0; axis < kMaxDims; ++axis) {
    const bool counts = axis % 6 == 0;
    source_layout.shape[axis] = destination_layout.shape[axis] = counts ? 2 : 1;
    source_layout.strides_bytes[axis] = counts ? std::int64_t{2} << (axis / 6) : -3;
    destination_layout.strides_bytes[axis] = counts ? std::int64_t{4} << (10 - axis / 6) : 5;
  }
  Rng rng(5);
  StridedArray source(DType::kBFloat16, source_layout);
  StridedArray destination(DType::kFloat32, destination_layout);
  source.randomise(rng);
  expect_same_as_one_by_one(source, destination, source.view(), destination.view(), {});
}

TEST(Convert, ArraysWithoutElementsNeedNoMemory) {
  ArrayView empty;
  const std::int64_t shape[] = {3, 0};
  const std::int64_t strides[] = {0, 4};
  empty.layout = {2, shape, strides};
  EXPECT_TRUE(convert(empty, empty).ok());
}

TEST(Convert, Refusals) {
  StridedArray two = testing::row_of<float>(DType::kFloat32, {1, 2});
  StridedArray three(DType::kFloat32, Layout::row_major({3}, 4));
  StridedArray row(DType::kFloat32, Layout::row_major({1, 2}, 4));
  StridedArray bools(DType::kBool, Layout::row_major({2}, 1));
  StridedArray packed(DType::kQInt8, Layout::row_major({2}, 1));
  ArrayView as_complex = two.view();
  as_complex.dtype = DType::kComplex64;
  ArrayView read_only = two.view();
  read_only.read_only = true;
  ArrayView nowhere = two.view();
  nowhere.data = nullptr;
  struct Case {
    ArrayView from;
    ArrayView to;
    Code code;
    const char* message_has;
  };
  const Case cases[] = {
      {two.view(), three.view(), Code::kInvalid, "shape (2), destination (3)"},
      {two.view(), row.view(), Code::kInvalid, "shape (2), destination (1, 2)"},
      {two.view(), read_only, Code::kInvalid, "read-only"},
      {two.view(), nowhere, Code::kInvalid, "null data"},
      {nowhere, two.view(), Code::kInvalid, "null data"},
      {as_complex, bools.view(), Code::kUnsupported, "complex64 to bool"},
      {packed.view(), bools.view(), Code::kUnsupported, "qint8"},
      {bools.view(), packed.view(), Code::kUnsupported, "qint8"},
  };
  for (const Case& refused : cases) {
    const Status status = convert(refused.from, refused.to);
    ASSERT_FALSE(status.ok()) << refused.message_has;
    EXPECT_EQ(status.code(), refused.code);
    EXPECT_NE(status.message().find(refused.message_has), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
}

TEST(Convert, CastExists) {
  EXPECT_TRUE(cast_exists(DType::kFloat32, DType::kComplex64));
  EXPECT_TRUE(cast_exists(DType::kFloat8E8M0FNU, DType::kInt4));
  EXPECT_TRUE(cast_exists(DType::kComplex32, DType::kBComplex32));
  EXPECT_FALSE(cast_exists(DType::kComplex64, DType::kBool));
  EXPECT_FALSE(cast_exists(DType::kComplex128, DType::kFloat64));
  EXPECT_FALSE(cast_exists(DType::kQInt8, DType::kQInt8));
  EXPECT_FALSE(cast_exists(DType::kInt8, DType::kInt3));
}

}  // namespace
}  // namespace ashore
