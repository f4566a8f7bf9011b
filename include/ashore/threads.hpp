// How many threads a large conversion may use. Process-wide; called by applications and bindings.
#pragma once

#include <ashore/result.hpp>

namespace ashore {

/// Return how many threads one conversion uses at most, the calling one included.
///
/// At first: the CPUs that this process may run on (affinity mask, cgroup limit), at most 16, and
/// at most OMP_NUM_THREADS where that is set.
int num_threads() noexcept;

/// Use at most `count` threads from the next conversion on; 1 means the calling thread alone. Fails
/// with kInvalid unless 1 <= count <= 1024.
Status set_num_threads(int count);

}  // namespace ashore
