// The tile kernels, for each pattern and item size, compiled for a level. Included by level_*.cpp
// alone.
#pragma once

#include <cstring>

#include "convert/row_access.hpp"
#include "convert/tile.hpp"
#include "convert/transpose.hpp"
#include "convert/weave.hpp"
#include "host/simd_target.hpp"

namespace ashore {

/// Sixteen bytes, moved as they are.
struct Item16 {
  std::uint64_t half[2];
};

template <typename T>
inline constexpr auto kItem = static_cast<std::ptrdiff_t>(sizeof(T));

// --- kRows ---------------------------------------------------------------------------------------

/// Copy rows of `bytes` bytes, kPiece <= bytes <= kMost, by pieces of which the last one overlaps
/// the one before: no loop over what is left.
template <std::size_t kPiece, std::size_t kMost>
ASHORE_INLINE void copy_short_rows(const Tile& tile, std::size_t bytes) noexcept {
  const char* from = tile.source;
  char* to = tile.destination;
  for (std::size_t row = 0; row < tile.rows; ++row) {
    for (std::size_t at = 0; kMost > 2 * kPiece && at + kPiece < bytes; at += kPiece) {
      std::memcpy(to + at, from + at, kPiece);
    }
    if constexpr (kMost <= 2 * kPiece) std::memcpy(to, from, kPiece);
    std::memcpy(to + bytes - kPiece, from + bytes - kPiece, kPiece);
    from += tile.source_row;
    to += tile.destination_row;
  }
}

template <typename T, host::SimdLevel kLevel>
struct MoveRows {
  ASHORE_INLINE static void run(const Tile& tile) noexcept {
    constexpr std::size_t kVector = host::kVectorBytes<kLevel>;
    const std::size_t bytes = tile.cols * sizeof(T);
    if (bytes > 512) {
      const char* from = tile.source;
      char* to = tile.destination;
      for (std::size_t row = 0; row < tile.rows; ++row) {
        std::memcpy(to, from, bytes);
        from += tile.source_row;
        to += tile.destination_row;
      }
    } else if (bytes > 2 * kVector) {
      copy_short_rows<kVector, 512>(tile, bytes);
    } else if (bytes >= kVector) {
      copy_short_rows<kVector, 2 * kVector>(tile, bytes);
    } else if (kVector > 32 && bytes >= 32) {
      copy_short_rows<32, 64>(tile, bytes);
    } else if (kVector > 16 && bytes >= 16) {
      copy_short_rows<16, 32>(tile, bytes);
    } else if (bytes >= 8) {
      copy_short_rows<8, 16>(tile, bytes);
    } else if (bytes >= 4) {
      copy_short_rows<4, 8>(tile, bytes);
    } else if (bytes >= 2) {
      copy_short_rows<2, 4>(tile, bytes);
    } else if (bytes == 1) {
      copy_short_rows<1, 2>(tile, bytes);
    }
  }
};

// --- kReverse, kFill, kGather --------------------------------------------------------------------

template <typename T>
struct MoveReverse {
  ASHORE_INLINE static void run(const Tile& tile) noexcept {
    for (std::size_t row = 0; row < tile.rows; ++row) {
      const char* __restrict from = tile.source +
                                    static_cast<std::ptrdiff_t>(row) * tile.source_row -
                                    static_cast<std::ptrdiff_t>(tile.cols - 1) * kItem<T>;
      char* __restrict to =
          tile.destination + static_cast<std::ptrdiff_t>(row) * tile.destination_row;
      for (std::size_t col = 0; col < tile.cols; ++col) {
        write<T>(to, col, read<T>(from, tile.cols - 1 - col));
      }
    }
  }
};

template <typename T>
struct MoveFill {
  ASHORE_INLINE static void run(const Tile& tile) noexcept {
    for (std::size_t row = 0; row < tile.rows; ++row) {
      const T value = read<T>(tile.source + static_cast<std::ptrdiff_t>(row) * tile.source_row, 0);
      char* __restrict to =
          tile.destination + static_cast<std::ptrdiff_t>(row) * tile.destination_row;
      for (std::size_t col = 0; col < tile.cols; ++col) write<T>(to, col, value);
    }
  }
};

template <typename T>
struct MoveGather {
  /// With the step between elements as a constant, or as a number of bytes (0).
  template <int kStep>
  ASHORE_INLINE static void gather(const Tile& tile) noexcept {
    for (std::size_t row = 0; row < tile.rows; ++row) {
      const char* __restrict from =
          tile.source + static_cast<std::ptrdiff_t>(row) * tile.source_row;
      char* __restrict to =
          tile.destination + static_cast<std::ptrdiff_t>(row) * tile.destination_row;
      for (std::size_t col = 0; col < tile.cols; ++col) {
        if constexpr (kStep != 0) {
          write<T>(to, col, read<T>(from, col * kStep));
        } else {
          write<T>(to, col, read<T>(from + static_cast<std::ptrdiff_t>(col) * tile.source_col, 0));
        }
      }
    }
  }
  ASHORE_INLINE static void run(const Tile& tile) noexcept {
    if (tile.source_col == 2 * kItem<T>) return gather<2>(tile);
    if (tile.source_col == 4 * kItem<T>) return gather<4>(tile);
    gather<0>(tile);
  }
};

// --- the table -----------------------------------------------------------------------------------

template <host::SimdLevel kLevel, typename Kernel>
inline constexpr TileKernel kTile = &host::At<kLevel, Kernel>::template call<const Tile&>;

template <host::SimdLevel kLevel, typename T, int kIndex>
constexpr void fill_tiles(TileKernels& tiles) {
  const auto set = [&tiles](Pattern pattern, TileKernel kernel) {
    tiles.of[static_cast<int>(pattern)][kIndex] = kernel;
  };
  set(Pattern::kRows, kTile<kLevel, MoveRows<T, kLevel>>);
  set(Pattern::kReverse, kTile<kLevel, MoveReverse<T>>);
  set(Pattern::kFill, kTile<kLevel, MoveFill<T>>);
  set(Pattern::kGather, kTile<kLevel, MoveGather<T>>);
  set(Pattern::kTranspose, kTile<kLevel, MoveTranspose<T, kLevel>>);
  set(Pattern::kInterleave, kTile<kLevel, MoveInterleave<T, kLevel>>);
  set(Pattern::kDeinterleave, kTile<kLevel, MoveDeinterleave<T, kLevel>>);
}

/// The tile kernels of one level.
template <host::SimdLevel kLevel>
constexpr TileKernels make_tiles() {
  TileKernels tiles{};
  fill_tiles<kLevel, std::uint8_t, 0>(tiles);
  fill_tiles<kLevel, std::uint16_t, 1>(tiles);
  fill_tiles<kLevel, std::uint32_t, 2>(tiles);
  fill_tiles<kLevel, std::uint64_t, 3>(tiles);
  fill_tiles<kLevel, Item16, 4>(tiles);
  return tiles;
}

}  // namespace ashore
