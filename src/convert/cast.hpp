// The table of cast kernels. Called by convert and to_image, which feed it runs of elements.
#pragma once

#include <ashore/dtype.hpp>

#include "convert/convert.hpp"
#include "convert/walk.hpp"

namespace ashore {

/// What stays the same over all runs of one conversion.
struct CastJob {
  DType from;
  DType to;
  bool source_swapped = false;  ///< parts are in the other byte order
  bool destination_swapped = false;
  Transform transform{};
};

/// Casts one run of elements, which must not overlap its destination.
using CastKernel = void (*)(const CastJob& job, const Run& run);

/// Return the kernel of the table for this job, or null where no such cast exists.
CastKernel find_cast(const CastJob& job) noexcept;

}  // namespace ashore
