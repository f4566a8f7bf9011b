// Checked arithmetic on shapes, strides and byte counts. Called wherever a size comes from outside.
#pragma once

#include <ashore/layout.hpp>

#include <cstdint>

namespace ashore {

/// Write a * b into `out`; return whether it fits.
[[nodiscard]] inline bool checked_multiply(std::int64_t a, std::int64_t b,
                                           std::int64_t& out) noexcept {
  return !__builtin_mul_overflow(a, b, &out);
}

/// Write a + b into `out`; return whether it fits.
[[nodiscard]] inline bool checked_add(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
  return !__builtin_add_overflow(a, b, &out);
}

/// The bytes that the elements of an array cover, counted from its first element.
struct Extent {
  std::int64_t low = 0;    ///< first byte; zero or negative
  std::int64_t high = 0;   ///< one past the last byte; equal to `low` without elements
  std::int64_t count = 1;  ///< number of elements
};

/// Write the extent of `layout` into `out`. Return false where a length is negative, or where the
/// number of elements (axes of length 0 left out, as in NumPy), the bytes they would take compact,
/// or the reachable range does not fit in 63 bits. Does not look at the number of axes.
[[nodiscard]] inline bool measure_extent(LayoutView layout, std::int64_t item_bytes,
                                         Extent& out) noexcept {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t compact_bytes = item_bytes;
  std::int64_t count = 1;
  bool empty = false;
  for (int axis = 0; axis < layout.ndim; ++axis) {
    const std::int64_t length = layout.shape[axis];
    if (length < 0) return false;
    if (length == 0) {
      empty = true;
      continue;
    }
    if (!checked_multiply(compact_bytes, length, compact_bytes)) return false;
    count *= length;
    std::int64_t reach = 0;
    if (!checked_multiply(length - 1, layout.strides_bytes[axis], reach)) return false;
    std::int64_t& end = reach < 0 ? low : high;
    if (!checked_add(end, reach, end)) return false;
  }
  if (!checked_add(high, item_bytes, high)) return false;
  std::int64_t span = 0;
  if (__builtin_sub_overflow(high, low, &span)) return false;
  out.count = empty ? 0 : count;
  out.low = empty ? 0 : low;
  out.high = empty ? 0 : high;
  return true;
}

}  // namespace ashore
