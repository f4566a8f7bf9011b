// Sizes that the choice of a move and its execution share.
#pragma once

#include <cstddef>

namespace ashore {

/// Bytes of the scratch in which tiles are put together before they are cast: half of a small
/// first-level cache.
inline constexpr std::size_t kScratchBytes = std::size_t{16} << 10;

/// The largest item that tiles are made of.
inline constexpr std::size_t kMostTileItem = 16;

}  // namespace ashore
