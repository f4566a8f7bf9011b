// The exact answer to "do two elements share a byte?". Called by has_internal_overlap alone.
#pragma once

#include <ashore/layout.hpp>

#include <cstdint>

namespace ashore {

/// Say whether two different elements of a layout without axes of length 0 share a byte. Gives up
/// after a bounded search, and then says that they do.
bool any_elements_meet(LayoutView layout, std::int64_t item_bytes) noexcept;

}  // namespace ashore
