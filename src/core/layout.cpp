// What shapes and strides say: counts, contiguity, overlap, and the layout of a fresh copy.
#include <ashore/layout.hpp>

#include <algorithm>
#include <cstdlib>

#include "core/assert.hpp"
#include "core/overlap.hpp"

namespace ashore {
namespace {

// Lay the axes compact, the one that `order(0)` names fastest. Without elements all strides are 0,
// as in NumPy.
template <typename OrderOfAxes>
void lay_compact(int ndim, std::int64_t item_bytes, OrderOfAxes order, Layout& out) noexcept {
  std::int64_t stride = item_bytes;
  for (int i = 0; i < ndim; ++i) {
    const int axis = order(i);
    out.strides_bytes[axis] = stride;
    stride *= out.shape[axis];
  }
  if (stride == 0) std::fill_n(out.strides_bytes, ndim, 0);
}

bool is_column_major(LayoutView layout, std::int64_t item_bytes) noexcept {
  std::int64_t expected = item_bytes;
  for (int axis = 0; axis < layout.ndim; ++axis) {
    const std::int64_t length = layout.shape[axis];
    if (length == 1) continue;
    if (layout.strides_bytes[axis] != expected) return false;
    expected *= length;
  }
  return true;
}

std::uint64_t magnitude(std::int64_t stride) noexcept {
  const auto bits = static_cast<std::uint64_t>(stride);
  return stride < 0 ? 0 - bits : bits;
}

}  // namespace

Layout Layout::row_major(std::initializer_list<std::int64_t> shape,
                         std::int64_t item_bytes) noexcept {
  ASHORE_ASSERT(shape.size() <= kMaxDims);
  Layout layout;
  layout.ndim = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), layout.shape);
  const int last = layout.ndim - 1;
  lay_compact(
      layout.ndim, item_bytes, [last](int i) { return last - i; }, layout);
  return layout;
}

std::int64_t count_elems(LayoutView layout) noexcept {
  std::int64_t count = 1;
  for (int axis = 0; axis < layout.ndim; ++axis) count *= layout.shape[axis];
  return count;
}

bool is_row_major(LayoutView layout, std::int64_t item_bytes) noexcept {
  std::int64_t expected = item_bytes;
  bool compact = true;
  for (int axis = layout.ndim - 1; axis >= 0; --axis) {
    const std::int64_t length = layout.shape[axis];
    if (length == 1) continue;
    if (length == 0) return true;  // no elements: nothing lies anywhere
    if (layout.strides_bytes[axis] != expected) compact = false;
    expected *= length;
  }
  return compact;
}

bool has_internal_overlap(LayoutView layout, std::int64_t item_bytes) noexcept {
  // Most arrays nest: each axis steps over everything that the axes after it reach.
  std::int64_t reach = item_bytes;
  bool nested = true;
  for (int axis = layout.ndim - 1; axis >= 0; --axis) {
    const std::int64_t length = layout.shape[axis];
    if (length == 1) continue;
    if (length == 0) return false;
    if (!nested) continue;
    const std::int64_t stride = layout.strides_bytes[axis];
    const std::int64_t step = stride < 0 ? -stride : stride;
    nested = step >= reach;
    reach += (length - 1) * step;
  }
  return !nested && any_elements_meet(layout, item_bytes);
}

void compact_layout(LayoutView source, Order order, std::int64_t item_bytes, Layout& out) noexcept {
  const int ndim = source.ndim;
  const int last = ndim - 1;
  int perm[kMaxDims];  // axes from the slowest to the fastest; used where neither C nor F fits
  const bool row_major = order == Order::kRowMajor || is_row_major(source, item_bytes);
  const bool column_major = !row_major && is_column_major(source, item_bytes);
  if (!row_major && !column_major) {
    for (int axis = 0; axis < ndim; ++axis) {  // insertion sort: stable, and ndim is small
      const std::uint64_t stride = magnitude(source.strides_bytes[axis]);
      int place = axis;
      while (place > 0 && magnitude(source.strides_bytes[perm[place - 1]]) < stride) {
        perm[place] = perm[place - 1];
        --place;
      }
      perm[place] = axis;
    }
  }
  out.ndim = ndim;
  if (ndim > 0) {
    std::memmove(out.shape, source.shape, sizeof(std::int64_t) * static_cast<std::size_t>(ndim));
  }
  if (row_major) {
    lay_compact(
        ndim, item_bytes, [last](int i) { return last - i; }, out);
  } else if (column_major) {
    lay_compact(
        ndim, item_bytes, [](int i) { return i; }, out);
  } else {
    lay_compact(
        ndim, item_bytes, [&perm, last](int i) { return perm[last - i]; }, out);
  }
}

}  // namespace ashore
