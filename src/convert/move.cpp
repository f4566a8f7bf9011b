// Carries out a move: tile by tile, threads taking runs of tiles.
#include "convert/move.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "convert/kernels.hpp"
#include "convert/scratch.hpp"
#include "convert/threading.hpp"
#include "host/parallel_for.hpp"

namespace ashore {
namespace {

// The axes of a move as tiles see them, slowest first: the outer ones, the depth, the columns, then
// the rows, so that the pages of a block of columns stay in the TLB.
class Grid {
 public:
  Grid(const Move& move, std::size_t to_item) noexcept {
    for (int axis = 0; axis < move.outer.ndim; ++axis) {
      add(static_cast<std::size_t>(move.outer.shape[axis]), 1, move.outer.source_strides[axis],
          move.outer.destination_strides[axis]);
    }
    const Tile& whole = move.whole;
    add(move.depth.count, move.tile_depth, move.depth.source_step, move.depth.destination_step);
    add(whole.cols, move.tile_cols, whole.source_col, static_cast<std::ptrdiff_t>(to_item));
    add(whole.rows, move.tile_rows, whole.source_row, whole.destination_row);
  }

  std::size_t tiles() const noexcept {
    std::size_t tiles = 1;
    for (int axis = 0; axis < ndim_; ++axis) tiles *= axes_[axis].count;
    return tiles;
  }

  struct Axis {
    std::size_t count;  ///< of tiles
    std::ptrdiff_t source_step, destination_step;
  };
  const Axis& axis(int index) const noexcept { return axes_[index]; }
  int ndim() const noexcept { return ndim_; }

 private:
  void add(std::size_t length, std::size_t tile, std::ptrdiff_t source_step,
           std::ptrdiff_t destination_step) noexcept {
    const auto elems = static_cast<std::ptrdiff_t>(tile);
    axes_[ndim_++] = {(length - 1) / tile + 1, source_step * elems, destination_step * elems};
  }

  std::array<Axis, kMaxDims + 3> axes_;
  int ndim_ = 0;
};

// Where a run of tiles stands: an index on each axis of the grid, the last one going fastest.
class Position {
 public:
  Position(const Move& move, const Grid& grid, std::size_t tile) noexcept
      : move_(move), grid_(grid) {
    for (int axis = grid.ndim() - 1; axis >= 0; --axis) {
      const Grid::Axis& along = grid.axis(axis);
      index_[axis] = tile % along.count;
      tile /= along.count;
      source_ += static_cast<std::ptrdiff_t>(index_[axis]) * along.source_step;
      destination_ += static_cast<std::ptrdiff_t>(index_[axis]) * along.destination_step;
    }
  }

  Tile tile(const char* source, char* destination) const noexcept {
    Tile tile = move_.whole;
    tile.source = source + source_;
    tile.destination = destination + destination_;
    tile.rows = left(1, move_.tile_rows, tile.rows);
    tile.cols = left(2, move_.tile_cols, tile.cols);
    return tile;
  }
  std::size_t depth() const noexcept { return left(3, move_.tile_depth, move_.depth.count); }

  void advance() noexcept {
    for (int axis = grid_.ndim() - 1; axis >= 0; --axis) {
      const Grid::Axis& along = grid_.axis(axis);
      source_ += along.source_step;
      destination_ += along.destination_step;
      if (++index_[axis] < along.count) return;
      source_ -= static_cast<std::ptrdiff_t>(along.count) * along.source_step;
      destination_ -= static_cast<std::ptrdiff_t>(along.count) * along.destination_step;
      index_[axis] = 0;
    }
  }

 private:
  // The length of this tile along the axis that is so far from the end.
  std::size_t left(int from_end, std::size_t tile, std::size_t length) const noexcept {
    return std::min(tile, length - index_[grid_.ndim() - from_end] * tile);
  }

  const Move& move_;
  const Grid& grid_;
  std::array<std::size_t, kMaxDims + 3> index_;
  std::ptrdiff_t source_ = 0, destination_ = 0;
};

// Move a tile of some depth: plane by plane, of its rows or, where there are fewer, of its depth.
void move_deep(const Tile& tile, const Depth& depth, TileKernel kernel) {
  Tile plane = tile;
  Depth step = depth;
  if (tile.rows < depth.count) {
    plane.rows = depth.count;
    plane.source_row = depth.source_step;
    plane.destination_row = depth.destination_step;
    step = {tile.rows, tile.source_row, tile.destination_row};
  }
  for (std::size_t i = 0; i < step.count; ++i) {
    kernel(plane);
    plane.source += step.source_step;
    plane.destination += step.destination_step;
  }
}

void move_tile(const Tile& tile, const Depth& depth, TileKernel kernel) {
  if (depth.count == 1) {
    kernel(tile);
  } else {
    move_deep(tile, depth, kernel);
  }
}

// Put a tile together in the scratch, then write it from there.
void write_by_scratch(const Tile& tile, Depth depth, TileKernel kernel, const RowWriter& writer,
                      char* scratch) {
  const std::size_t elems = tile.cols * depth.count;  // of a row of the scratch
  Tile gathered = tile;
  gathered.destination = scratch;
  gathered.destination_row = static_cast<std::ptrdiff_t>(elems * writer.from_item());
  gathered.to_scratch = true;
  depth.destination_step = static_cast<std::ptrdiff_t>(tile.cols * writer.from_item());
  move_tile(gathered, depth, kernel);
  if (tile.destination_row == static_cast<std::ptrdiff_t>(elems * writer.to_item())) {
    writer.write(scratch, tile.destination, tile.rows * elems);
    return;
  }
  for (std::size_t row = 0; row < tile.rows; ++row) {
    writer.write(scratch + static_cast<std::ptrdiff_t>(row) * gathered.destination_row,
                 tile.destination + static_cast<std::ptrdiff_t>(row) * tile.destination_row, elems);
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
  const Grid grid(move, writer.to_item());
  const std::size_t tiles = grid.tiles();
  const auto run = [&](std::size_t begin, std::size_t end) {
    Position position(move, grid, begin);
    Depth depth = move.depth;
    alignas(64) char scratch[kScratchBytes];
    for (std::size_t i = begin; i < end; ++i, position.advance()) {
      const Tile tile = position.tile(from, to);
      depth.count = position.depth();
      switch (move.way) {
        case Way::kDirect:
          move_tile(tile, depth, kernel);
          break;
        case Way::kScratch:
          write_by_scratch(tile, depth, kernel, writer, scratch);
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
      move.tile_rows * move.tile_cols * move.tile_depth * (writer.from_item() + writer.to_item());
  host::parallel_for(tiles, std::max<std::size_t>(1, piece_bytes(shared_bytes) / tile_bytes), run);
}

}  // namespace ashore
