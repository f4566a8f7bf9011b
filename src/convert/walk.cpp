// Reduces two layouts to as few axes as possible, then steps over them with an odometer.
#include "convert/walk.hpp"

#include <utility>

namespace ashore {
namespace {

std::int64_t magnitude(std::int64_t stride) noexcept { return stride < 0 ? -stride : stride; }

struct Axis {
  std::int64_t length;
  std::int64_t source;
  std::int64_t destination;
};

// Slower axes first: those that step farther in the destination, then in the source.
bool is_slower(const Axis& a, const Axis& b) noexcept {
  const std::int64_t far_a = magnitude(a.destination);
  const std::int64_t far_b = magnitude(b.destination);
  if (far_a != far_b) return far_a > far_b;
  return magnitude(a.source) > magnitude(b.source);
}

// Say whether stepping `length` times by `inner` lands where one step by `outer` does. Unsigned,
// for one step past the end need not fit.
bool continues(std::int64_t outer, std::int64_t inner, std::int64_t length) noexcept {
  return static_cast<std::uint64_t>(outer) ==
         static_cast<std::uint64_t>(inner) * static_cast<std::uint64_t>(length);
}

}  // namespace

void plan_walk(LayoutView source, LayoutView destination, Walk& walk) noexcept {
  walk.ndim = 0;
  walk.empty = false;
  walk.source_offset = 0;
  walk.destination_offset = 0;
  Axis axes[kMaxDims];
  int count = 0;
  for (int i = 0; i < source.ndim; ++i) {
    const std::int64_t length = source.shape[i];
    if (length == 0) walk.empty = true;
    if (length <= 1) continue;
    Axis axis{length, source.strides_bytes[i], destination.strides_bytes[i]};
    // Walk every axis upwards in the destination, so that flipped pairs merge as well.
    if (axis.destination < 0 || (axis.destination == 0 && axis.source < 0)) {
      walk.source_offset += (length - 1) * axis.source;
      walk.destination_offset += (length - 1) * axis.destination;
      axis.source = -axis.source;
      axis.destination = -axis.destination;
    }
    int place = count++;
    while (place > 0 && is_slower(axis, axes[place - 1])) {
      axes[place] = axes[place - 1];
      --place;
    }
    axes[place] = axis;
  }
  for (int i = 0; i < count; ++i) {
    const Axis& axis = axes[i];
    if (walk.ndim > 0) {
      const int last = walk.ndim - 1;
      if (continues(walk.source_strides[last], axis.source, axis.length) &&
          continues(walk.destination_strides[last], axis.destination, axis.length)) {
        walk.shape[last] *= axis.length;
        walk.source_strides[last] = axis.source;
        walk.destination_strides[last] = axis.destination;
        continue;
      }
    }
    walk.shape[walk.ndim] = axis.length;
    walk.source_strides[walk.ndim] = axis.source;
    walk.destination_strides[walk.ndim] = axis.destination;
    ++walk.ndim;
  }
}

void walk_runs(const Walk& walk, const void* source, void* destination,
               void (*step)(const void* context, const Run& run), const void* context) noexcept {
  if (walk.empty) return;
  Run run{static_cast<const char*>(source) + walk.source_offset, 0,
          static_cast<char*>(destination) + walk.destination_offset, 0, 1};
  if (walk.ndim == 0) {
    step(context, run);
    return;
  }
  const int inner = walk.ndim - 1;
  run.source_stride = walk.source_strides[inner];
  run.destination_stride = walk.destination_strides[inner];
  run.count = static_cast<std::size_t>(walk.shape[inner]);
  std::int64_t index[kMaxDims] = {};
  for (;;) {
    step(context, run);
    int axis = inner - 1;
    for (; axis >= 0; --axis) {
      if (++index[axis] < walk.shape[axis]) break;
      index[axis] = 0;
      run.source -= (walk.shape[axis] - 1) * walk.source_strides[axis];
      run.destination -= (walk.shape[axis] - 1) * walk.destination_strides[axis];
    }
    if (axis < 0) return;
    run.source += walk.source_strides[axis];
    run.destination += walk.destination_strides[axis];
  }
}

}  // namespace ashore
