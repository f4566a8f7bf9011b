// Copies runs of elements without looking into them. Called by convert where the dtype stays.
#pragma once

#include <cstddef>

#include "convert/walk.hpp"

namespace ashore {

/// Copies one run of elements, which must not overlap its destination.
using CopyKernel = void (*)(const Run& run);

/// Return the kernel for elements of `item_bytes` in `part_bytes` parts (complex has two), which
/// turns the byte order of each part if `swap`.
CopyKernel find_copy(std::size_t item_bytes, std::size_t part_bytes, bool swap) noexcept;

}  // namespace ashore
