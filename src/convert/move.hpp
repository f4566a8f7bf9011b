// A conversion between two layouts, planned once and carried out by tiles. Called by convert.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "convert/row_writer.hpp"
#include "convert/tile.hpp"
#include "convert/walk.hpp"

namespace ashore {

/// How the elements of a tile get to their place.
enum class Way : std::uint8_t {
  kDirect,     ///< the tile kernel puts them there
  kScratch,    ///< the tile kernel puts them together in a scratch, and they are written from there
  kInRows,     ///< rows are written from where they are
  kCastFirst,  ///< the element of each row is cast into a scratch, and the tile kernel repeats it
};

/// A walk cut into tiles: up to three of its axes are those of the tiles, the others are stepped
/// over outside.
struct Move {
  Pattern pattern = Pattern::kRows;
  Way way = Way::kDirect;
  Tile whole{};  ///< the block of these axes, at the first index of the others
  std::size_t tile_planes = 1;
  std::size_t tile_rows = 1;
  std::size_t tile_cols = 1;
  bool goes_by_planes = false;  ///< the next tile is the next one of the planes, not of the rows
  Walk outer;                   ///< the other axes
};

/// Choose how to move what `walk` walks over.
void choose_move(const Walk& walk, const RowWriter& writer, Move& move) noexcept;

/// Carry it out; its pattern is not kScattered. `shared_bytes`: the bytes read and written, if
/// threads shall share them, else 0.
void carry_out(const Move& move, const RowWriter& writer, const void* source, void* destination,
               std::size_t shared_bytes);

/// The name of a pattern, as `ashore.plan` shows it.
const char* name(Pattern pattern) noexcept;

}  // namespace ashore
