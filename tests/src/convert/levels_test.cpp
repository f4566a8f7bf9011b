// The fast cast at each level of vector instructions against the staged one, bit for bit: every
// pattern of the formats of one and two bytes, awkward and random values of the wider ones, every
// pair of dtypes (contract C4).
#include <gtest/gtest.h>
#include <ashore/threads.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "convert/convert.hpp"
#include "convert/element.hpp"
#include "convert/fast_cast.hpp"
#include "convert/stage.hpp"
#include "support/levels.hpp"
#include "support/strided.hpp"

namespace ashore {
namespace {

using testing::pick;
using testing::Rng;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Levels : public testing::LevelTest {};
INSTANTIATE_TEST_SUITE_P(Cast, Levels, ::testing::ValuesIn(host::kSimdLevels), testing::level_name);

constexpr std::size_t kCount = 65536 + 37;  // every pattern of two bytes, and a ragged end

// Numbers at and around everything that a conversion can turn on: powers of two with their
// neighbours, ties of the narrow formats, the ends of integers.
std::vector<double> awkward_values() {
  std::vector<double> values = {0.0,
                                kInfinity,
                                std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::signaling_NaN(),
                                1.5,
                                2.5,
                                0.1};
  for (int exponent = -1074; exponent <= 1023; ++exponent) {
    const bool dense = exponent >= -160 && exponent <= 160;
    if (!dense && exponent % 50 != 0) continue;
    const double power = std::ldexp(1.0, exponent);
    for (const double fraction :
         {0.0, 0x1p-52, 0x1p-24, 0x1p-23, 0x1p-11, 0x1.8p-11, 0x1p-8, 0x1.8p-8, 0x1p-4, 0x1p-3,
          0x1p-2, 0x1.8p-4, 0x1.8p-3, 0.5, 0.75}) {
      values.push_back(power * (1 + fraction));
      values.push_back(power * (1 + fraction) - power * 0x1p-30);
      values.push_back(power * (2 - fraction));
    }
  }
  const std::size_t half = values.size();
  for (std::size_t i = 0; i < half; ++i) values.push_back(-values[i]);
  return values;
}

// Memory full of elements of a dtype: every pattern where there are at most 2^16, else bits of
// awkward values and random ones.
std::vector<char> elements_of(DType dtype, Rng& rng) {
  static const std::vector<double> awkward = awkward_values();
  const DType part = part_dtype(dtype);
  const std::size_t part_bytes = size_bytes(part);
  const std::size_t parts = kCount * size_bytes(dtype) / part_bytes;
  std::vector<char> memory(parts * part_bytes);
  for (std::size_t i = 0; i < parts; ++i) {
    std::uint64_t bits = part_bytes <= 2 ? i : rng();
    if (part_bytes > 2) {
      const double value = awkward[i % awkward.size()];
      const auto narrow = static_cast<float>(value);
      if (i % 4 != 0 && part == DType::kFloat64) std::memcpy(&bits, &value, 8);
      if (i % 4 != 0 && part == DType::kFloat32) std::memcpy(&bits, &narrow, 4);
      if (info(part).kind != DTypeKind::kFloat && i % 4 == 1) bits >>= rng() % 64;
      if (info(part).kind != DTypeKind::kFloat && i % 4 == 2) bits = ~std::uint64_t{0} >> i % 64;
    }
    std::memcpy(&memory[i * part_bytes], &bits, part_bytes);
  }
  return memory;
}

// float32 to complex64 and its like: the fast cast copies the parts, where the staged one makes
// signalling NaNs quiet.
bool keeps_parts(DType from, DType to) {
  return part_dtype(from) == part_dtype(to) && info(part_dtype(from)).kind == DTypeKind::kFloat;
}

TEST_P(Levels, RealPartsOfTheSameDTypeAreCopied) {
  Rng rng(3);
  const std::vector<char> source = elements_of(DType::kFloat32, rng);
  std::vector<char> got(2 * source.size());
  fast_cast({DType::kFloat32, DType::kComplex64}, {source.data(), 4, got.data(), 8, kCount});
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(std::memcmp(&source[4 * i], &got[8 * i], 4), 0) << i;
    ASSERT_EQ(std::memcmp("\0\0\0\0", &got[8 * i + 4], 4), 0) << i;
  }
}

TEST_P(Levels, EveryPairGivesTheBitsOfTheStagedCast) {
  Rng rng(1);
  for (int from_index = 0; from_index < kConvertibleCount; ++from_index) {
    const auto from = static_cast<DType>(from_index);
    if (size_bytes(from) > 16 || part_dtype(from) == DType::kLongDouble) continue;
    const std::vector<char> source = elements_of(from, rng);
    for (int to_index = 0; to_index < kConvertibleCount; ++to_index) {
      const auto to = static_cast<DType>(to_index);
      if (!fast_cast_exists(from, to) || keeps_parts(from, to)) continue;
      const auto from_step = static_cast<std::ptrdiff_t>(size_bytes(from));
      const auto to_step = static_cast<std::ptrdiff_t>(size_bytes(to));
      std::vector<char> expected(kCount * size_bytes(to)), got(expected.size());
      staged_cast({from, to}, {source.data(), from_step, expected.data(), to_step, kCount});
      fast_cast({from, to}, {source.data(), from_step, got.data(), to_step, kCount});
      if (expected == got) continue;
      const auto apart = std::mismatch(expected.begin(), expected.end(), got.begin()).first;
      const std::size_t at = static_cast<std::size_t>(apart - expected.begin()) / size_bytes(to);
      std::uint64_t in = 0, want = 0, have = 0;
      std::memcpy(&in, &source[at * size_bytes(from)], std::min<std::size_t>(8, size_bytes(from)));
      std::memcpy(&want, &expected[at * size_bytes(to)], std::min<std::size_t>(8, size_bytes(to)));
      std::memcpy(&have, &got[at * size_bytes(to)], std::min<std::size_t>(8, size_bytes(to)));
      ADD_FAILURE() << name(from) << " to " << name(to) << ": " << std::hex << in << " gives "
                    << have << ", not " << want;
    }
  }
}

TEST_P(Levels, AnyStrideAndAnyCount) {
  Rng rng(2);
  for (int round = 0; round < 700; ++round) {
    const auto from = static_cast<DType>(pick(rng, 0, kConvertibleCount - 1));
    const auto to = static_cast<DType>(pick(rng, 0, kConvertibleCount - 1));
    if (!fast_cast_exists(from, to) || keeps_parts(from, to)) continue;
    const std::int64_t count = round % 8 == 0 ? pick(rng, 500, 1100) : pick(rng, 0, 70);
    const auto stride = [&](DType dtype) {
      const auto item = static_cast<std::int64_t>(size_bytes(dtype));
      return pick(rng, 0, 1) == 0 ? item : pick(rng, -1, 1) * pick(rng, item, item + 40);
    };
    const std::int64_t from_stride = stride(from);
    std::int64_t to_stride = stride(to);
    if (to_stride == 0) to_stride = static_cast<std::int64_t>(size_bytes(to));
    const std::int64_t reach = 1200 * 60;
    std::vector<char> source(2 * reach), expected(2 * reach, 'x'), got(expected);
    for (char& byte : source) byte = static_cast<char>(rng());
    const auto run_over = [&](std::vector<char>& memory) {
      return ashore::Run{source.data() + reach, from_stride, memory.data() + reach, to_stride,
                         static_cast<std::size_t>(count)};
    };
    staged_cast({from, to}, run_over(expected));
    fast_cast({from, to}, run_over(got));
    ASSERT_TRUE(expected == got) << name(from) << " to " << name(to) << ", " << count << " by "
                                 << from_stride << " and " << to_stride;
  }
}

// A layout with the axes in a random order in memory, some of them stepping or backwards.
Layout random_layout(Rng& rng, const std::vector<std::int64_t>& shape, std::int64_t item_bytes,
                     bool plain) {
  Layout layout;
  layout.ndim = static_cast<int>(shape.size());
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), rng);
  if (plain) std::iota(order.rbegin(), order.rend(), 0);
  std::int64_t stride = item_bytes;
  for (const int axis : order) {
    const auto at = static_cast<std::size_t>(axis);
    const std::int64_t step = plain || pick(rng, 0, 2) != 0 ? 1 : pick(rng, 1, 4);
    layout.shape[axis] = shape[at];
    layout.strides_bytes[axis] = stride * step * (plain || pick(rng, 0, 3) != 0 ? 1 : -1);
    stride *= shape[at] * step;
  }
  return layout;
}

TEST_P(Levels, LayoutsLargeEnoughForEveryTile) {
  const int threads_before = num_threads();
  Rng rng(4);
  for (int round = 0; round < 600; ++round) {
    const Memory memory = round % 3 == 0 ? Memory::kFresh : Memory::kPassed;
    ASSERT_TRUE(set_num_threads(round % 2 == 0 ? 1 : 3).ok());
    const auto from = static_cast<DType>(pick(rng, 0, kConvertibleCount - 1));
    const auto to = round % 2 == 0 ? from : static_cast<DType>(pick(rng, 0, kConvertibleCount - 1));
    if (!cast_exists(from, to) || (from != to && keeps_parts(from, to))) continue;
    const auto ndim = static_cast<std::size_t>(pick(rng, 1, 4));
    std::vector<std::int64_t> shape(ndim);
    std::int64_t count = 1;
    for (std::int64_t& length : shape) {
      length = pick(rng, 0, 2) == 0 ? pick(rng, 1, 5) : pick(rng, 5, ndim == 4 ? 30 : 90);
      count *= length;
    }
    if (count > 200'000) continue;
    const auto from_item = static_cast<std::int64_t>(size_bytes(from));
    const auto to_item = static_cast<std::int64_t>(size_bytes(to));
    testing::StridedArray source(from, random_layout(rng, shape, from_item, false),
                                 static_cast<std::size_t>(pick(rng, 0, 63)));
    const Layout target = random_layout(rng, shape, to_item, round % 4 < 3);
    const auto misalignment = static_cast<std::size_t>(pick(rng, 0, 63));
    testing::StridedArray got(to, target, misalignment), expected(to, target, misalignment);
    source.randomise(rng);
    ArrayView view = source.view();
    view.byte_swapped = round % 5 == 0;
    std::vector<std::int64_t> places;
    testing::for_each_offset(target.view(), [&](std::int64_t offset) { places.push_back(offset); });
    const CastJob job{from, to, view.byte_swapped && size_bytes(part_dtype(from)) > 1};
    std::size_t place = 0;
    testing::for_each_offset(view.layout, [&](std::int64_t offset) {
      const char* element = static_cast<const char*>(view.data) + offset;
      char* out = static_cast<char*>(expected.view().data) + places[place++];
      if (from != to) return staged_cast(job, {element, 0, out, 0, 1});
      std::memcpy(out, element, static_cast<std::size_t>(from_item));
      const std::size_t part = size_bytes(part_dtype(from));
      for (char* at = out; job.source_swapped && at < out + from_item; at += part) {
        std::reverse(at, at + part);
      }
    });
    ASSERT_TRUE(convert(view, got.view(), {}, memory).ok());
    // Compared element by element: the two memories may be misaligned differently.
    for (const std::int64_t offset : places) {
      ASSERT_EQ(std::memcmp(static_cast<char*>(got.view().data) + offset,
                            static_cast<char*>(expected.view().data) + offset, size_bytes(to)),
                0)
          << name(from) << " to " << name(to) << ", round " << round << ", "
          << describe_kernels(view, got.view());
    }
    // Nothing was written between the elements.
    const auto all = std::count(got.memory().begin(), got.memory().end(), 0xA5);
    ASSERT_EQ(all, std::count(expected.memory().begin(), expected.memory().end(), 0xA5));
  }
  ASSERT_TRUE(set_num_threads(threads_before).ok());
}

}  // namespace
}  // namespace ashore
