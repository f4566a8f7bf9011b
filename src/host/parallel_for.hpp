// Splits a range of work among a few threads. Called by convert for large arrays.
#pragma once

#include <ashore/threads.hpp>

#include <cstddef>

namespace ashore::host {

/// Work on the elements from `begin` to `end` of the range.
using RangeTask = void (*)(const void* context, std::size_t begin, std::size_t end);

/// Call `task` for pieces of [0, count) of `grain` elements (the last may be shorter), each exactly
/// once, from the calling thread and up to `num_threads() - 1` helpers; return when all are done.
/// `task` must not throw.
///
/// The calling thread takes pieces itself, so nobody waits for a helper that got no CPU. Where the
/// pool is busy with another caller's range, or the call comes from inside a task, everything runs
/// in the calling thread: ashore never has more than `num_threads()` threads at work beyond its
/// callers'. One piece never wakes anybody.
void parallel_for(std::size_t count, std::size_t grain, RangeTask task, const void* context);

/// The same for anything that can be called with (begin, end).
template <typename Function>
void parallel_for(std::size_t count, std::size_t grain, const Function& function) {
  parallel_for(
      count, grain,
      [](const void* context, std::size_t begin, std::size_t end) {
        (*static_cast<const Function*>(context))(begin, end);
      },
      &function);
}

}  // namespace ashore::host
