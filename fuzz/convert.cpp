// Fuzzes convert: any dtype pair, strides, byte orders and overlap, at any level of vector
// instructions, against one call of the lowest level for each element.
#include <ashore/array.hpp>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "bytes.hpp"
#include "convert/convert.hpp"
#include "host/cpu_features.hpp"

namespace {

using ashore::ArrayView;
using ashore::DType;
using ashore::LayoutView;

constexpr int kDims = 4;
constexpr std::int64_t kMaxLength = 5;
constexpr std::int64_t kMaxStride = 40;
// Room for every element of every layout that can come up, on both sides of the first one.
constexpr std::int64_t kHalf = kDims * (kMaxLength - 1) * kMaxStride + 32;

struct Side {
  DType dtype;
  bool swapped;
  std::int64_t first;  // offset of the first element
  std::int64_t strides[kDims];
};

Side take_side(ashore::fuzz::Bytes& input) {
  Side side{};
  side.dtype = static_cast<DType>(input.below(static_cast<int>(DType::kUInt4) + 1));
  const int flags = input.below(256);
  side.swapped = (flags & 1) != 0;
  side.first = kHalf + input.below(16);
  const auto item = static_cast<std::int64_t>(ashore::size_bytes(side.dtype));
  std::int64_t compact = item;
  for (int axis = kDims - 1; axis >= 0; --axis) {
    const int odd = input.below(static_cast<int>(2 * kMaxStride)) - static_cast<int>(kMaxStride);
    side.strides[axis] = (flags & 2) != 0 || compact > kMaxStride ? odd : compact;
    compact *= 2;
  }
  return side;
}

ArrayView view(std::vector<char>& memory, const Side& side, LayoutView layout) {
  return {memory.data() + side.first, side.dtype, side.swapped, false, layout};
}

// Convert element by element, each from a copy of the source.
void convert_each(std::vector<char>& memory, const Side& from, std::vector<char> source,
                  const Side& to, const std::int64_t* shape, ashore::Transform transform) {
  std::int64_t index[kDims];
  for (index[0] = 0; index[0] < shape[0]; ++index[0])
    for (index[1] = 0; index[1] < shape[1]; ++index[1])
      for (index[2] = 0; index[2] < shape[2]; ++index[2])
        for (index[3] = 0; index[3] < shape[3]; ++index[3]) {
          std::int64_t source_at = from.first, destination_at = to.first;
          for (int axis = 0; axis < kDims; ++axis) {
            source_at += index[axis] * from.strides[axis];
            destination_at += index[axis] * to.strides[axis];
          }
          const ArrayView one{source.data() + source_at, from.dtype, from.swapped, false, {}};
          const ArrayView other{memory.data() + destination_at, to.dtype, to.swapped, false, {}};
          if (!ashore::convert(one, other, transform).ok()) std::abort();
        }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ashore::fuzz::Bytes input(data, size);
  const Side from = take_side(input);
  const Side to = take_side(input);
  std::int64_t shape[kDims];
  for (std::int64_t& length : shape) length = input.below(kMaxLength + 1);
  const int flags = input.below(256);
  const ashore::Transform transform{(flags & 1) != 0, (flags & 2) != 0};
  const bool overlapping = (flags & 4) != 0;
  const ashore::host::SimdLevelInfo& level =
      ashore::host::kSimdLevels[(flags >> 3) % ashore::host::kSimdLevelCount];
  if (!ashore::cast_exists(from.dtype, to.dtype)) return 0;
  const LayoutView source_layout{kDims, shape, from.strides};
  const LayoutView destination_layout{kDims, shape, to.strides};
  // Where destination elements overlap each other, which of them is written last is nobody's
  // promise.
  if (ashore::has_internal_overlap(destination_layout,
                                   static_cast<std::int64_t>(ashore::size_bytes(to.dtype)))) {
    return 0;
  }
  std::vector<char> source(2 * kHalf + 64), apart(source.size());
  input.fill(source.data(), source.size());
  std::vector<char> whole = source;
  std::vector<char>& destination = overlapping ? whole : apart;
  std::vector<char> expected = destination;
  ashore::host::force_simd_level(ashore::host::SimdLevel::kBaseline);
  convert_each(expected, from, source, to, shape, transform);
  if (level.is_here()) ashore::host::force_simd_level(level.level);
  std::vector<char>& read = overlapping ? whole : source;
  if (!ashore::convert(view(read, from, source_layout), view(destination, to, destination_layout),
                       transform)
           .ok()) {
    std::abort();
  }
  if (std::memcmp(destination.data(), expected.data(), expected.size()) != 0) std::abort();
  return 0;
}
