// Carries out a move: tile by tile, threads taking runs of tiles.
#include "convert/move.hpp"

#include <algorithm>
#include <bit>

#include "convert/kernels.hpp"
#include "convert/scratch.hpp"
#include "convert/threading.hpp"
#include "host/parallel_for.hpp"

namespace ashore {
namespace {

// Where a run of tiles stands: an index on each outer axis, then the tile's column, then its row,
// which goes fastest, so that the pages of a block of columns stay in the TLB.
class Position {
 public:
  Position(const Move& move, std::size_t tile) noexcept : move_(move) {
    row_tiles_ = (move.whole.rows - 1) / move.tile_rows + 1;
    col_tiles_ = (move.whole.cols - 1) / move.tile_cols + 1;
    row_tile_ = tile % row_tiles_;
    col_tile_ = tile / row_tiles_ % col_tiles_;
    auto outer = static_cast<std::int64_t>(tile / row_tiles_ / col_tiles_);
    for (int axis = move.outer.ndim - 1; axis >= 0; --axis) {
      index_[axis] = outer % move.outer.shape[axis];
      outer /= move.outer.shape[axis];
      source_ += index_[axis] * move.outer.source_strides[axis];
      destination_ += index_[axis] * move.outer.destination_strides[axis];
    }
  }

  Tile tile(const char* source, char* destination, std::size_t to_item) const noexcept {
    const Tile& whole = move_.whole;
    const std::size_t row = row_tile_ * move_.tile_rows;
    const std::size_t col = col_tile_ * move_.tile_cols;
    Tile tile = whole;
    tile.source = source + source_ + static_cast<std::ptrdiff_t>(row) * whole.source_row +
                  static_cast<std::ptrdiff_t>(col) * whole.source_col;
    tile.destination = destination + destination_ +
                       static_cast<std::ptrdiff_t>(row) * whole.destination_row +
                       static_cast<std::ptrdiff_t>(col * to_item);
    tile.rows = std::min(move_.tile_rows, whole.rows - row);
    tile.cols = std::min(move_.tile_cols, whole.cols - col);
    return tile;
  }

  void advance() noexcept {
    if (++row_tile_ < row_tiles_) return;
    row_tile_ = 0;
    if (++col_tile_ < col_tiles_) return;
    col_tile_ = 0;
    for (int axis = move_.outer.ndim - 1; axis >= 0; --axis) {
      source_ += move_.outer.source_strides[axis];
      destination_ += move_.outer.destination_strides[axis];
      if (++index_[axis] < move_.outer.shape[axis]) return;
      source_ -= index_[axis] * move_.outer.source_strides[axis];
      destination_ -= index_[axis] * move_.outer.destination_strides[axis];
      index_[axis] = 0;
    }
  }

 private:
  const Move& move_;
  std::size_t row_tiles_, col_tiles_;
  std::size_t row_tile_, col_tile_;
  std::ptrdiff_t source_ = 0, destination_ = 0;
  std::int64_t index_[kMaxDims];
};

// Put a tile together in the scratch, then write it from there.
void write_by_scratch(const Tile& tile, TileKernel kernel, const RowWriter& writer, char* scratch) {
  const std::size_t row_bytes = tile.cols * writer.from_item();
  Tile gathered = tile;
  gathered.destination = scratch;
  gathered.destination_row = static_cast<std::ptrdiff_t>(row_bytes);
  gathered.to_scratch = true;
  kernel(gathered);
  if (tile.destination_row == static_cast<std::ptrdiff_t>(tile.cols * writer.to_item())) {
    writer.write(scratch, tile.destination, tile.rows * tile.cols);
    return;
  }
  for (std::size_t row = 0; row < tile.rows; ++row) {
    writer.write(scratch + row * row_bytes,
                 tile.destination + static_cast<std::ptrdiff_t>(row) * tile.destination_row,
                 tile.cols);
  }
}

void write_rows(const Tile& tile, const RowWriter& writer) {
  for (std::size_t row = 0; row < tile.rows; ++row) {
    writer.write(tile.source + static_cast<std::ptrdiff_t>(row) * tile.source_row,
                 tile.destination + static_cast<std::ptrdiff_t>(row) * tile.destination_row,
                 tile.cols);
  }
}

}  // namespace

void carry_out(const Move& move, const RowWriter& writer, const void* source, void* destination,
               std::size_t shared_bytes) {
  if (move.outer.empty) return;
  const int item_index = std::countr_zero(writer.from_item());
  const TileKernel kernel = kernels().tiles.of[static_cast<int>(move.pattern)][item_index];
  const char* const from = static_cast<const char*>(source) + move.outer.source_offset;
  char* const to = static_cast<char*>(destination) + move.outer.destination_offset;
  std::size_t planes = 1;
  for (int axis = 0; axis < move.outer.ndim; ++axis) {
    planes *= static_cast<std::size_t>(move.outer.shape[axis]);
  }
  const std::size_t tiles = planes * ((move.whole.rows - 1) / move.tile_rows + 1) *
                            ((move.whole.cols - 1) / move.tile_cols + 1);
  const auto run = [&](std::size_t begin, std::size_t end) {
    Position position(move, begin);
    alignas(64) char scratch[kScratchBytes];
    for (std::size_t i = begin; i < end; ++i, position.advance()) {
      const Tile tile = position.tile(from, to, writer.to_item());
      switch (move.way) {
        case Way::kDirect:
          kernel(tile);
          break;
        case Way::kScratch:
          write_by_scratch(tile, kernel, writer, scratch);
          break;
        case Way::kInRows:
          write_rows(tile, writer);
      }
    }
    writer.finish();
  };
  if (shared_bytes == 0) {
    run(0, tiles);
    return;
  }
  const std::size_t tile_bytes =
      move.tile_rows * move.tile_cols * (writer.from_item() + writer.to_item());
  host::parallel_for(tiles, std::max<std::size_t>(1, piece_bytes(shared_bytes) / tile_bytes), run);
}

}  // namespace ashore
