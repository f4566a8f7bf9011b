// Tiles: pieces of a layout change, and the kinds of kernel that move them. Called
// by move.cpp, filled by level_*.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashore {

/// A piece of the work on elements of one size: `planes` planes of `rows` rows of `cols` elements.
/// In the destination the columns of a row lie one after the other; the source has any strides, in
/// bytes. More than one plane makes sense where planes are small.
struct Tile {
  const char* source;
  std::ptrdiff_t source_plane;
  std::ptrdiff_t source_row;
  std::ptrdiff_t source_col;
  char* destination;
  std::ptrdiff_t destination_plane;
  std::ptrdiff_t destination_row;
  std::size_t planes;
  std::size_t rows;
  std::size_t cols;
  bool to_scratch;  ///< the destination is a scratch in the cache; below this tile lies another
};

/// How the elements of a tile move.
enum class Pattern : std::uint8_t {
  kRows,          ///< rows compact on both sides: slices, crops, permutes of outer axes
  kReverse,       ///< rows compact, read backwards: flips
  kFill,          ///< one element for a whole row: expanded axes
  kGather,        ///< elements of a row apart in the source: steps
  kTranspose,     ///< the source's compact axis is the rows: transposes, permutes
  kInterleave,    ///< as kTranspose with 2 to 4 columns, rows compact: channels first to last
  kDeinterleave,  ///< as kTranspose with 2 to 4 rows, columns that far apart: channels last to
                  ///< first
  kScattered,     ///< the destination's elements are apart: run by run, no tiles
};

/// The columns of a narrow tile, at most.
inline constexpr std::size_t kMostNarrowCols = 8;

inline constexpr int kTilePatternCount = static_cast<int>(Pattern::kScattered);

/// Moves one tile. Source and destination do not overlap.
using TileKernel = void (*)(const Tile& tile);

/// Item sizes that have tile kernels: 1, 2, 4, 8 and 16 bytes.
inline constexpr int kTileItemCount = 5;

/// The tile kernels of one level, by pattern and by the logarithm of the item's bytes.
struct TileKernels {
  TileKernel of[kTilePatternCount][kTileItemCount];
};

}  // namespace ashore
