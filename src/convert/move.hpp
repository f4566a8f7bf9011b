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

/// A walk cut into tiles: two of its axes are the rows and columns of the tiles, the others are
/// stepped over outside.
struct Move {
  Pattern pattern = Pattern::kRows;
  bool by_scratch = false;  ///< tiles are moved into a scratch first, and cast from there
  Tile whole{};             ///< the plane of the two axes, at the first index of the others
  std::size_t tile_rows = 1;
  std::size_t tile_cols = 1;
  Walk outer;  ///< the other axes
};

/// Choose how to move what `walk` walks over. `is_copy`: the bytes of elements stay as they are.
void choose_move(const Walk& walk, std::size_t from_item, std::size_t to_item, bool is_copy,
                 Move& move) noexcept;

/// Carry it out; its pattern is not kScattered. `shared_bytes`: the bytes read and written, if
/// threads shall share them, else 0.
void carry_out(const Move& move, const RowWriter& writer, const void* source, void* destination,
               std::size_t shared_bytes);

/// The name of a pattern, as `ashore.plan` shows it.
const char* name(Pattern pattern) noexcept;

}  // namespace ashore
