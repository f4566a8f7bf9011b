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
using Item16 = VectorOf<std::uint64_t, 16>::type;

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

/// Call `Row::run(from, to)` for each row of a tile. What a row's loop reads and writes are its
/// parameters, for only there the compiler believes that they do not overlap.
template <typename Row>
ASHORE_INLINE void for_each_row(const Tile& tile) noexcept {
  for (std::size_t row = 0; row < tile.rows; ++row) {
    Row::run(tile.source + static_cast<std::ptrdiff_t>(row) * tile.source_row,
             tile.destination + static_cast<std::ptrdiff_t>(row) * tile.destination_row, tile.cols,
             tile.source_col);
  }
}

template <typename T>
struct ReverseRow {
  ASHORE_INLINE static void run(const char* __restrict from, char* __restrict to, std::size_t count,
                                std::ptrdiff_t) noexcept {
    const char* const first = from - static_cast<std::ptrdiff_t>((count - 1) * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) write<T>(to, i, read<T>(first, count - 1 - i));
  }
};

template <typename T>
struct FillRow {
  ASHORE_INLINE static void run(const char* __restrict from, char* __restrict to, std::size_t count,
                                std::ptrdiff_t) noexcept {
    const T value = read<T>(from, 0);
    for (std::size_t i = 0; i < count; ++i) write<T>(to, i, value);
  }
};

/// With the step between elements as a constant, or as a number of bytes (0).
template <typename T, std::size_t kStep>
struct GatherRow {
  ASHORE_INLINE static void run(const char* __restrict from, char* __restrict to, std::size_t count,
                                std::ptrdiff_t step_bytes) noexcept {
    if constexpr (kStep == 0) return gather_row<T>(from, to, count, step_bytes);
    for (std::size_t i = 0; i < count; ++i) write<T>(to, i, read<T>(from, i * kStep));
  }
};

template <typename T>
struct MoveReverse {
  ASHORE_INLINE static void run(const Tile& tile) noexcept { for_each_row<ReverseRow<T>>(tile); }
};

template <typename T>
struct MoveFill {
  ASHORE_INLINE static void run(const Tile& tile) noexcept { for_each_row<FillRow<T>>(tile); }
};

template <typename T, host::SimdLevel kLevel>
struct MoveGather {
  ASHORE_INLINE static void run(const Tile& tile) noexcept {
    constexpr auto kItem = static_cast<std::ptrdiff_t>(sizeof(T));
    if (tile.source_col == 2 * kItem) return for_each_row<GatherRow<T, 2>>(tile);
    if constexpr (kLevel != host::SimdLevel::kBaseline) {
      if (tile.source_col == 3 * kItem) return for_each_row<GatherRow<T, 3>>(tile);
    }
    if (tile.source_col == 4 * kItem) return for_each_row<GatherRow<T, 4>>(tile);
    for_each_row<GatherRow<T, 0>>(tile);
  }
};

// --- the table -----------------------------------------------------------------------------------

/// Moves plane after plane by the kernel of one.
template <typename Kernel>
struct EachPlane {
  ASHORE_INLINE static void run(const Tile& tile) noexcept {
    Tile plane = tile;
    for (std::size_t i = 0; i < tile.planes; ++i) {
      Kernel::run(plane);
      plane.source += tile.source_plane;
      plane.destination += tile.destination_plane;
    }
  }
};

template <host::SimdLevel kLevel, typename Kernel>
inline constexpr TileKernel kTile =
    &host::At<kLevel, EachPlane<Kernel>>::template call<const Tile&>;

template <host::SimdLevel kLevel, typename T, int kIndex>
constexpr void fill_tiles(TileKernels& tiles) {
  const auto set = [&tiles](Pattern pattern, TileKernel kernel) {
    tiles.of[static_cast<int>(pattern)][kIndex] = kernel;
  };
  set(Pattern::kRows, kTile<kLevel, MoveRows<T, kLevel>>);
  set(Pattern::kReverse, kTile<kLevel, MoveReverse<T>>);
  set(Pattern::kFill, kTile<kLevel, MoveFill<T>>);
  set(Pattern::kGather, kTile<kLevel, MoveGather<T, kLevel>>);
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
