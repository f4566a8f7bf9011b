// Searches for two elements that share a byte; has_internal_overlap calls it for unusual strides.
//
// Elements i and j meet where |sum (i_k - j_k) * stride_k| < item_bytes. So look for index
// differences d, not all zero, |d_k| < shape_k, that bring the sum that close to zero: axis by axis
// from the longest stride to the shortest, keeping only values that the axes after it can still
// undo.
#include "core/overlap.hpp"

#include <algorithm>

namespace ashore {
namespace {

constexpr int kMaxSteps = 100'000;
constexpr std::int64_t kAbsurdReach = std::int64_t{1}
                                      << 60;  // sums of four of these fit in 63 bits

struct Axis {
  std::int64_t stride;  // made positive: the sign of d_k is free
  std::int64_t last;    // the largest difference of two indices
};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) noexcept {
  const std::int64_t quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient;
}

// One axis of the search: the differences still to try, and the sum of the axes before it.
struct Level {
  std::int64_t sum;
  std::int64_t next;
  std::int64_t end;
  bool moved;  // some axis before this one has a difference other than zero
};

class Search {
 public:
  Search(const Axis* axes, int count, std::int64_t item_bytes) noexcept
      : axes_(axes), count_(count), slack_(item_bytes - 1) {
    reach_[count] = 0;
    for (int i = count - 1; i >= 0; --i) reach_[i] = reach_[i + 1] + axes[i].stride * axes[i].last;
  }

  bool finds_meeting() noexcept {
    int depth = 0;
    open(0, 0, false);
    for (int steps = 0; depth >= 0; ++steps) {
      if (steps > kMaxSteps) return true;
      Level& level = levels_[depth];
      if (level.next > level.end) {
        --depth;
        continue;
      }
      const std::int64_t difference = level.next++;
      const bool moved = level.moved || difference != 0;
      if (depth + 1 == count_) {
        if (moved) return true;
        continue;
      }
      open(depth + 1, level.sum + difference * axes_[depth].stride, moved);
      ++depth;
    }
    return false;
  }

 private:
  // Start on axis `depth`: the differences that leave a sum which the axes after it can bring to
  // zero.
  void open(int depth, std::int64_t sum, bool moved) noexcept {
    const Axis& axis = axes_[depth];
    const std::int64_t room = reach_[depth + 1] + slack_;
    const std::int64_t low = -floor_divide(room + sum, axis.stride);
    const std::int64_t high = floor_divide(room - sum, axis.stride);
    Level& level = levels_[depth];
    level.sum = sum;
    level.moved = moved;
    // A solution and its negative are the same pair of elements: let the first difference be
    // positive.
    level.next = std::max(low, moved ? -axis.last : 0);
    level.end = std::min(high, axis.last);
  }

  const Axis* axes_;
  int count_;
  std::int64_t slack_;
  std::int64_t reach_[kMaxDims + 1];
  Level levels_[kMaxDims];
};

}  // namespace

bool any_elements_meet(LayoutView layout, std::int64_t item_bytes) noexcept {
  Axis axes[kMaxDims];
  int count = 0;
  for (int axis = 0; axis < layout.ndim; ++axis) {
    if (layout.shape[axis] <= 1) continue;
    const std::int64_t stride = layout.strides_bytes[axis];
    if (stride == 0) return true;
    axes[count++] = {stride < 0 ? -stride : stride, layout.shape[axis] - 1};
  }
  std::sort(axes, axes + count, [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  std::int64_t reach = item_bytes;
  bool nested = true;
  for (int i = count - 1; i >= 0; --i) {
    nested = nested && axes[i].stride >= reach;
    reach += axes[i].stride * axes[i].last;
    if (reach > kAbsurdReach) return true;
  }
  return !nested && Search(axes, count, item_bytes).finds_meeting();
}

}  // namespace ashore
