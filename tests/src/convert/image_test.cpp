// to_image: contract I1 against the formula written out, for layouts, channels and dtypes.
#include "convert/image.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "convert/convert.hpp"
#include "support/strided.hpp"

namespace ashore {
namespace {

using testing::pick;
using testing::Rng;
using testing::StridedArray;
using Bytes = std::vector<std::uint8_t>;

// One step at a time, each rounded by itself (volatile keeps the compiler from fusing them).
template <typename F>
std::uint8_t by_the_contract(F x, double low, double high) {
  volatile F shifted = x - static_cast<F>(low);
  volatile F range = static_cast<F>(high) - static_cast<F>(low);
  volatile F scale = F{255} / range;
  volatile F scaled = shifted * scale;
  if (std::isnan(scaled)) return 0;
  const F rounded = std::nearbyint(scaled);
  return static_cast<std::uint8_t>(rounded < 0 ? 0 : rounded > 255 ? 255 : rounded);
}

Layout planar(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t item) {
  Layout layout = Layout::row_major({n, h, w, c}, item);
  layout.strides_bytes[0] = c * h * w * item;
  layout.strides_bytes[1] = w * item;
  layout.strides_bytes[2] = item;
  layout.strides_bytes[3] = h * w * item;
  return layout;
}

template <typename F>
void expect_contract(DType dtype, double low, double high) {
  Rng rng(7);
  for (const std::int64_t channels : {1, 3, 4}) {
    for (const bool swap : {false, true}) {
      StridedArray source(dtype, planar(2, 3, 700, channels, sizeof(F)));
      auto* values = static_cast<F*>(source.view().data);
      const std::int64_t count = 2 * 3 * 700 * channels;
      for (std::int64_t i = 0; i < count; ++i) {
        const F unit = static_cast<F>(pick(rng, -300, 2900)) / F{2550};
        values[i] = static_cast<F>(low) + unit * static_cast<F>(high - low);
      }
      values[0] = std::numeric_limits<F>::quiet_NaN();
      values[1] = std::numeric_limits<F>::infinity();
      values[2] = -std::numeric_limits<F>::infinity();
      values[3] = std::numeric_limits<F>::max();
      values[4] =
          static_cast<F>(low) + static_cast<F>(0.5 / 255 * (high - low));  // halves: to even
      values[5] = static_cast<F>(low) + static_cast<F>(1.5 / 255 * (high - low));
      Bytes out(static_cast<std::size_t>(count));
      ASSERT_TRUE(to_image(source.view(), {true, low, high, swap}, out.data()).ok());
      std::size_t next = 0;
      for (std::int64_t n = 0; n < 2; ++n) {
        for (std::int64_t pixel = 0; pixel < 3 * 700; ++pixel) {
          for (std::int64_t c = 0; c < channels; ++c) {
            const std::int64_t from = swap && channels >= 3 && c < 3 ? 2 - c : c;
            const F x = values[(n * channels + from) * 3 * 700 + pixel];
            ASSERT_EQ(int{out[next++]}, int{by_the_contract<F>(x, low, high)}) << x;
          }
        }
      }
    }
  }
}

TEST(Image, Float32AndFloat64ByTheContract) {
  for (const auto& [low, high] :
       {std::pair{0.0, 1.0}, {-1.0, 1.0}, {0.0, 255.0}, {-0.3, 0.7}, {1e-3, 5e5}}) {
    expect_contract<float>(DType::kFloat32, low, high);
    expect_contract<double>(DType::kFloat64, low, high);
  }
}

TEST(Image, OtherDtypesGoThroughFloat32) {
  Rng rng(8);
  for (const DType dtype : {DType::kBool, DType::kInt16, DType::kUInt64, DType::kFloat16,
                            DType::kBFloat16, DType::kLongDouble, DType::kFloat8E5M2}) {
    StridedArray source(
        dtype, Layout::row_major({1, 5, 7, 3}, static_cast<std::int64_t>(size_bytes(dtype))));
    source.randomise(rng);
    StridedArray floats(DType::kFloat32, Layout::row_major({1, 5, 7, 3}, 4));
    ASSERT_TRUE(convert(source.view(), floats.view()).ok());
    Bytes direct(105);
    Bytes through(105);
    ASSERT_TRUE(to_image(source.view(), {true, -1, 300, false}, direct.data()).ok());
    ASSERT_TRUE(to_image(floats.view(), {true, -1, 300, false}, through.data()).ok());
    EXPECT_EQ(direct, through) << name(dtype);
  }
}

TEST(Image, SwappedBytesAndFlippedAxes) {
  StridedArray source = testing::row_of<float>(DType::kFloat32, {0, 0.25f, 0.5f, 1});
  StridedArray swapped(DType::kFloat32, Layout::row_major({4}, 4));
  ArrayView to = swapped.view();
  to.byte_swapped = true;
  ASSERT_TRUE(convert(source.view(), to).ok());
  const std::int64_t shape[] = {1, 1, 4, 1};
  const std::int64_t strides[] = {0, 0, -4, 99};
  to.data = static_cast<char*>(to.data) + 12;
  to.layout = {4, shape, strides};
  Bytes out(4);
  ASSERT_TRUE(to_image(to, {}, out.data()).ok());
  EXPECT_EQ(out, (Bytes{255, 128, 64, 0}));
}

TEST(Image, BytesAsTheyAre) {
  StridedArray source = testing::row_of<std::uint8_t>(DType::kUInt8, {1, 2, 3, 4, 5, 6, 7, 8});
  ArrayView view = source.view();
  const std::int64_t shape[] = {1, 1, 2, 4};
  const std::int64_t strides[] = {8, 8, 4, 1};
  view.layout = {4, shape, strides};
  Bytes out(8);
  ASSERT_TRUE(to_image(view, {false, 0, 0, false}, out.data()).ok());
  EXPECT_EQ(out, (Bytes{1, 2, 3, 4, 5, 6, 7, 8}));
  ASSERT_TRUE(to_image(view, {false, 0, 0, true}, out.data()).ok());
  EXPECT_EQ(out, (Bytes{3, 2, 1, 4, 7, 6, 5, 8}));
}

TEST(Image, Refusals) {
  StridedArray floats(DType::kFloat32, Layout::row_major({1, 2, 2, 3}, 4));
  StridedArray flat(DType::kFloat32, Layout::row_major({2, 2, 3}, 4));
  StridedArray two(DType::kFloat32, Layout::row_major({1, 2, 2, 2}, 4));
  StridedArray complex(DType::kComplex64, Layout::row_major({1, 2, 2, 3}, 8));
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  struct Case {
    ArrayView source;
    ImageSpec spec;
    Code code;
    const char* message_has;
  };
  const Case cases[] = {
      {flat.view(), {}, Code::kInvalid, "4 axes"},
      {two.view(), {true, 0, 1, true}, Code::kInvalid, "not 2"},
      {floats.view(), {false, 0, 1, false}, Code::kInvalid, "value_range"},
      {floats.view(), {true, 1, 1, false}, Code::kInvalid, "value_range"},
      {floats.view(), {true, 1, 0, false}, Code::kInvalid, "value_range"},
      {floats.view(), {true, 0, kNan, false}, Code::kInvalid, "value_range"},
      {floats.view(), {true, -kInf, 0, false}, Code::kInvalid, "value_range"},
      {floats.view(), {true, 0, 1e300, false}, Code::kInvalid, "value_range"},
      {floats.view(), {true, 1, 1 + 1e-12, false}, Code::kInvalid, "value_range"},
      {complex.view(), {}, Code::kUnsupported, "complex64"},
  };
  Bytes out(64);
  for (const Case& row : cases) {
    const Status status = to_image(row.source, row.spec, out.data());
    ASSERT_FALSE(status.ok()) << row.message_has;
    EXPECT_EQ(status.code(), row.code);
    EXPECT_NE(status.message().find(row.message_has), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
}

TEST(Image, NothingToDo) {
  ArrayView empty;
  const std::int64_t shape[] = {0, 2, 2, 3};
  const std::int64_t strides[] = {0, 0, 0, 0};
  empty.layout = {4, shape, strides};
  EXPECT_TRUE(to_image(empty, {}, nullptr).ok());
}

}  // namespace
}  // namespace ashore
