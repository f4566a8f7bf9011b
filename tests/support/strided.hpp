// Arrays with odd layouts over memory of their own, and a naive way to visit them. For C++ tests.
#pragma once

#include <ashore/array.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "core/checked.hpp"

namespace ashore::testing {

using Rng = std::mt19937_64;

/// Return a whole number in [low, high].
inline std::int64_t pick(Rng& rng, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(rng);
}

/// An array view, and the memory that it is a view of.
class StridedArray {
 public:
  /// Reserve memory for `layout` at `misalignment` bytes past an aligned address; every byte is
  /// `fill`.
  StridedArray(DType dtype, const Layout& layout, std::size_t misalignment = 0,
               unsigned char fill = 0xA5)
      : layout_(layout) {
    Extent extent;
    if (!measure_extent(layout_.view(), static_cast<std::int64_t>(size_bytes(dtype)), extent)) {
      std::abort();  // the test is wrong
    }
    memory_.assign(static_cast<std::size_t>(extent.high - extent.low) + misalignment + 64, fill);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    const std::size_t aligned = (64 - address % 64) % 64;
    view_.data = memory_.data() + aligned + misalignment - extent.low;
    view_.dtype = dtype;
  }

  ArrayView view() noexcept {
    ArrayView view = view_;
    view.layout = layout_.view();
    return view;
  }
  std::vector<unsigned char>& memory() noexcept { return memory_; }

  /// Fill all memory, gaps too, with random bytes.
  void randomise(Rng& rng) {
    for (unsigned char& byte : memory_) byte = static_cast<unsigned char>(rng());
  }

 private:
  Layout layout_;
  ArrayView view_;
  std::vector<unsigned char> memory_;
};

/// Call `visit` with the byte offset of each element, in row-major order: the naive reference.
inline void for_each_offset(LayoutView layout, const std::function<void(std::int64_t)>& visit) {
  for (int axis = 0; axis < layout.ndim; ++axis) {
    if (layout.shape[axis] == 0) return;
  }
  std::vector<std::int64_t> index(static_cast<std::size_t>(layout.ndim), 0);
  for (;;) {
    std::int64_t offset = 0;
    for (int axis = 0; axis < layout.ndim; ++axis) {
      offset += index[static_cast<std::size_t>(axis)] * layout.strides_bytes[axis];
    }
    visit(offset);
    int axis = layout.ndim - 1;
    for (; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < layout.shape[axis]) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
    if (axis < 0) return;
  }
}

/// Return a shape of at most `max_elems` elements; some axes are 1 long, now and then one is empty.
inline std::vector<std::int64_t> random_shape(Rng& rng, std::int64_t max_elems) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(pick(rng, 0, 6)));
  std::int64_t count = 1;
  for (std::int64_t& length : shape) {
    length = pick(rng, 0, 9) == 0 ? 1 : pick(rng, 1, std::max<std::int64_t>(1, max_elems / count));
    length = std::min<std::int64_t>(length, pick(rng, 1, 9) == 1 ? 300 : 7);
    count *= length;
  }
  if (!shape.empty() && pick(rng, 0, 30) == 0) shape[0] = 0;
  return shape;
}

/// Return strides for `shape` under which no two elements overlap: a random order of axes, random
/// signs, gaps, and steps that need not be whole elements.
inline Layout random_layout(Rng& rng, const std::vector<std::int64_t>& shape, std::int64_t item) {
  Layout layout;
  layout.ndim = static_cast<int>(shape.size());
  std::vector<int> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  if (pick(rng, 0, 2) != 0) std::shuffle(order.begin(), order.end(), rng);
  const bool gaps = pick(rng, 0, 1) == 0;
  std::int64_t stride = item;
  for (std::size_t i = order.size(); i-- > 0;) {
    const int axis = order[i];
    layout.shape[axis] = shape[static_cast<std::size_t>(axis)];
    if (gaps && pick(rng, 0, 2) == 0) stride += pick(rng, 1, 2 * item);
    layout.strides_bytes[axis] = pick(rng, 0, 3) == 0 ? -stride : stride;
    stride *= std::max<std::int64_t>(1, layout.shape[axis]);
  }
  return layout;
}

/// The same, with some axes repeated (stride 0): fit to read from, not to write to.
inline Layout random_source_layout(Rng& rng, const std::vector<std::int64_t>& shape,
                                   std::int64_t item) {
  Layout layout = random_layout(rng, shape, item);
  for (int axis = 0; axis < layout.ndim; ++axis) {
    if (pick(rng, 0, 4) == 0) layout.strides_bytes[axis] = 0;
  }
  return layout;
}

/// Return a row-major array with these values.
template <typename T>
StridedArray row_of(DType dtype, const std::vector<T>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  StridedArray array(dtype,
                     Layout::row_major({count}, static_cast<std::int64_t>(size_bytes(dtype))));
  std::memcpy(array.view().data, values.data(), values.size() * sizeof(T));
  return array;
}

/// Return the elements of a row-major array.
template <typename T>
std::vector<T> values_of(StridedArray& array) {
  std::vector<T> values(static_cast<std::size_t>(count_elems(array.view().layout)));
  std::memcpy(values.data(), array.view().data, values.size() * sizeof(T));
  return values;
}

}  // namespace ashore::testing
