// Walks two strided arrays of one shape in step, one run of elements at a time. Called by convert.
#pragma once

#include <ashore/layout.hpp>

#include <cstddef>
#include <cstdint>

namespace ashore {

/// A one-dimensional piece of the work: `count` elements, each `stride` bytes after the one before.
struct Run {
  const char* source;
  std::ptrdiff_t source_stride;
  char* destination;
  std::ptrdiff_t destination_stride;
  std::size_t count;
};

/// The axes of two arrays, reduced to what a walk needs: none of length 1, neighbours that continue
/// each other merged, in the order in which the destination lies in memory, the last one fastest
/// and with a destination stride that is not negative.
struct Walk {
  int ndim = 0;
  bool empty = false;
  std::int64_t source_offset = 0;  ///< bytes from the first element to where the walk starts
  std::int64_t destination_offset = 0;
  std::int64_t shape[kMaxDims];
  std::int64_t source_strides[kMaxDims];
  std::int64_t destination_strides[kMaxDims];
};

/// Plan the walk over two layouts of the same shape.
void plan_walk(LayoutView source, LayoutView destination, Walk& walk) noexcept;

/// Call `step(context, run)` for each run of the walk.
void walk_runs(const Walk& walk, const void* source, void* destination,
               void (*step)(const void* context, const Run& run), const void* context) noexcept;

}  // namespace ashore
