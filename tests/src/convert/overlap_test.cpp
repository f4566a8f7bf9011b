// Source and destination that share memory: as if the source had been copied first (contract C6).
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "convert/convert.hpp"
#include "support/strided.hpp"

namespace ashore {
namespace {

using testing::pick;
using testing::Rng;

struct Window {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  ArrayView view;

  ArrayView operator()() {
    view.layout = {static_cast<int>(shape.size()), shape.data(), strides.data()};
    return view;
  }
};

TEST(ConvertOverlap, ShiftsBothWays) {
  for (const std::int64_t shift : {-3, -1, 1, 3}) {
    std::vector<std::int32_t> numbers(1000);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
    const std::vector<std::int32_t> before = numbers;
    Window from{{900}, {4}, {numbers.data() + 10, DType::kInt32, false, false, {}}};
    Window to{{900}, {4}, {numbers.data() + 10 + shift, DType::kInt32, false, false, {}}};
    ASSERT_TRUE(convert(from(), to()).ok());
    for (std::int64_t i = 0; i < 900; ++i) {
      ASSERT_EQ(numbers[static_cast<std::size_t>(10 + shift + i)],
                before[static_cast<std::size_t>(10 + i)]);
    }
  }
}

TEST(ConvertOverlap, TransposeInPlaceAndFlipInPlace) {
  std::vector<float> numbers = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  Window rows{{3, 3}, {12, 4}, {numbers.data(), DType::kFloat32, false, false, {}}};
  Window columns{{3, 3}, {4, 12}, {numbers.data(), DType::kFloat32, false, false, {}}};
  ASSERT_TRUE(convert(rows(), columns()).ok());
  EXPECT_EQ(numbers, (std::vector<float>{1, 4, 7, 2, 5, 8, 3, 6, 9}));
  Window forwards{{9}, {4}, {numbers.data(), DType::kFloat32, false, false, {}}};
  Window backwards{{9}, {-4}, {numbers.data() + 8, DType::kFloat32, false, false, {}}};
  ASSERT_TRUE(convert(forwards(), backwards()).ok());
  EXPECT_EQ(numbers, (std::vector<float>{9, 6, 3, 8, 5, 2, 7, 4, 1}));
}

TEST(ConvertOverlap, SameMemoryAnotherDtypeByteOrderOrSign) {
  std::vector<std::int32_t> numbers = {1, -2, 3, 1 << 30};
  Window whole{{4}, {4}, {numbers.data(), DType::kInt32, false, false, {}}};
  Window floats = whole;
  floats.view.dtype = DType::kFloat32;
  ASSERT_TRUE(convert(whole(), floats()).ok());
  std::vector<float> values(4);
  std::memcpy(values.data(), numbers.data(), 16);
  EXPECT_EQ(values, (std::vector<float>{1, -2, 3, 0x1p30f}));

  numbers = {0x01020304, 0, 1, -1};
  Window swapped = whole;
  swapped.view.byte_swapped = true;
  ASSERT_TRUE(convert(whole(), swapped()).ok());
  EXPECT_EQ(numbers, (std::vector<std::int32_t>{0x04030201, 0, 0x01000000, -1}));

  numbers = {5, -6, 7, 0};
  ASSERT_TRUE(convert(whole(), whole(), {false, true}).ok());
  EXPECT_EQ(numbers, (std::vector<std::int32_t>{-5, 6, -7, 0}));
  ASSERT_TRUE(convert(whole(), whole()).ok());
  EXPECT_EQ(numbers, (std::vector<std::int32_t>{-5, 6, -7, 0}));
}

TEST(ConvertOverlap, RandomWindowsAgainstACopyOfTheSource) {
  Rng rng(6);
  constexpr DType kTypes[] = {DType::kUInt8, DType::kInt16, DType::kFloat32, DType::kComplex64};
  int overlapping = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<unsigned char> memory(4096);
    for (unsigned char& byte : memory) byte = static_cast<unsigned char>(rng());
    const std::vector<std::int64_t> shape = testing::random_shape(rng, 30);
    const DType from = kTypes[pick(rng, 0, 3)];
    const DType to = pick(rng, 0, 1) == 0 ? from : kTypes[pick(rng, 0, 3)];
    if (!cast_exists(from, to)) continue;
    const auto place = [&](DType dtype, const Layout& layout, ArrayView& view) {
      Extent extent;
      if (!measure_extent(layout.view(), static_cast<std::int64_t>(size_bytes(dtype)), extent)) {
        return false;
      }
      const auto size = static_cast<std::int64_t>(memory.size());
      if (extent.high - extent.low > size - 256) return false;
      view.data = memory.data() + pick(rng, 0, 255) - extent.low;
      view.dtype = dtype;
      view.layout = layout.view();
      return true;
    };
    const Layout source_layout =
        testing::random_source_layout(rng, shape, static_cast<std::int64_t>(size_bytes(from)));
    const Layout destination_layout =
        testing::random_layout(rng, shape, static_cast<std::int64_t>(size_bytes(to)));
    ArrayView source;
    ArrayView destination;
    if (!place(from, source_layout, source) || !place(to, destination_layout, destination))
      continue;
    ++overlapping;

    const std::vector<unsigned char> before = memory;
    ASSERT_TRUE(convert(source, destination).ok());
    const std::vector<unsigned char> result = memory;
    memory = before;
    std::vector<unsigned char> elsewhere = before;
    ArrayView copy = source;
    copy.data = elsewhere.data() + (static_cast<unsigned char*>(source.data) - memory.data());
    ASSERT_TRUE(convert(copy, destination).ok());
    ASSERT_EQ(result, memory) << i;
  }
  EXPECT_GT(overlapping, 1000);
}

}  // namespace
}  // namespace ashore
