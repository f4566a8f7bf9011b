// Carries out a move: tile by tile, threads taking runs of tiles.
#include "convert/move.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "convert/kernels.hpp"
#include "convert/scratch.hpp"
#include "convert/threading.hpp"
#include "host/parallel_for.hpp"

namespace ashore {
namespace {

// The axes of a move as tiles see them, slowest first: the outer ones, the planes, the columns,
// then the rows, so that the pages of a block of columns stay in the TLB; or the rows first.
class Grid {
 public:
  Grid(const Move& move, std::size_t to_item) noexcept {
    for (int axis = 0; axis < move.outer.ndim; ++axis) {
      set(ndim_++, static_cast<std::size_t>(move.outer.shape[axis]), 1,
          move.outer.source_strides[axis], move.outer.destination_strides[axis]);
    }
    const Tile& whole = move.whole;
    // On three places from here on; the columns are in the middle.
    plane_axis_ = ndim_ + (move.goes_by_planes ? 2 : 0);
    row_axis_ = ndim_ + (move.goes_by_planes ? 0 : 2);
    set(plane_axis_, whole.planes, move.tile_planes, whole.source_plane, whole.destination_plane);
    set(ndim_ + 1, whole.cols, move.tile_cols, whole.source_col,
        static_cast<std::ptrdiff_t>(to_item));
    set(row_axis_, whole.rows, move.tile_rows, whole.source_row, whole.destination_row);
    ndim_ += 3;
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
  int plane_axis() const noexcept { return plane_axis_; }
  int row_axis() const noexcept { return row_axis_; }
  int col_axis() const noexcept { return ndim_ - 2; }

 private:
  void set(int axis, std::size_t length, std::size_t tile, std::ptrdiff_t source_step,
           std::ptrdiff_t destination_step) noexcept {
    const auto elems = static_cast<std::ptrdiff_t>(tile);
    axes_[axis] = {(length - 1) / tile + 1, source_step * elems, destination_step * elems};
  }

  Axis axes_[kMaxDims + 3];
  int ndim_ = 0;
  int plane_axis_, row_axis_;
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
    tile.planes = left(grid_.plane_axis(), move_.tile_planes, tile.planes);
    tile.rows = left(grid_.row_axis(), move_.tile_rows, tile.rows);
    tile.cols = left(grid_.col_axis(), move_.tile_cols, tile.cols);
    return tile;
  }

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
  // The length of this tile along an axis.
  std::size_t left(int axis, std::size_t tile, std::size_t length) const noexcept {
    return std::min(tile, length - index_[axis] * tile);
  }

  const Move& move_;
  const Grid& grid_;
  std::size_t index_[kMaxDims + 3];
  std::ptrdiff_t source_ = 0, destination_ = 0;
};

// Puts tiles together in a scratch and writes them from there, in runs as long as the destination
// has them. Small tiles that continue each other in the destination are written as one.
class Scratch {
 public:
  explicit Scratch(const RowWriter& writer) noexcept : writer_(writer) {}

  void move(const Tile& tile, TileKernel kernel) {
    const std::size_t tile_elems = tile.planes * tile.rows * tile.cols;
    const bool goes_on = tile.destination == run_ + elems_ * writer_.to_item() &&
                         (elems_ + tile_elems) * writer_.from_item() <= kScratchBytes;
    if (!goes_on) flush();
    if (elems_ == 0) run_ = tile.destination;
    Axis outer{tile.planes, tile.destination_plane}, inner{tile.rows, tile.destination_row};
    const bool has_planes_inside = tile.planes > 1 && tile.destination_plane < tile.destination_row;
    if (has_planes_inside) std::swap(outer, inner);
    const auto col_bytes = static_cast<std::ptrdiff_t>(tile.cols * writer_.from_item());
    const std::ptrdiff_t inner_bytes = static_cast<std::ptrdiff_t>(inner.length) * col_bytes;
    Tile gathered = tile;
    gathered.destination = memory_ + elems_ * writer_.from_item();
    gathered.destination_plane = has_planes_inside ? col_bytes : inner_bytes;
    gathered.destination_row = has_planes_inside ? inner_bytes : col_bytes;
    gathered.to_scratch = true;
    kernel(gathered);

    std::size_t run_elems = tile.cols;
    if (join(inner, run_elems)) join(outer, run_elems);
    if (run_elems == tile_elems) {
      elems_ += tile_elems;
      return;
    }
    const char* from = gathered.destination;
    flush();
    for (std::size_t i = 0; i < outer.length; ++i) {
      char* to = tile.destination + static_cast<std::ptrdiff_t>(i) * outer.step;
      for (std::size_t j = 0; j < inner.length; ++j, to += inner.step) {
        writer_.write(from, to, run_elems);
        from += run_elems * writer_.from_item();
      }
    }
  }

  /// Write what is still there.
  void flush() {
    if (elems_ > 0) writer_.write(memory_, run_, elems_);
    elems_ = 0;
  }

  char* memory() noexcept { return memory_; }

 private:
  struct Axis {
    std::size_t length;
    std::ptrdiff_t step;  // in the destination
  };

  // Say whether runs of so many elements follow each other along the axis; they are one then.
  bool join(Axis& axis, std::size_t& elems) const noexcept {
    const bool follows =
        axis.length == 1 || axis.step == static_cast<std::ptrdiff_t>(elems * writer_.to_item());
    if (follows) elems *= std::exchange(axis.length, 1);
    return follows;
  }

  alignas(64) char memory_[kScratchBytes];
  const RowWriter& writer_;
  char* run_ = nullptr;    // where that goes which is in memory_
  std::size_t elems_ = 0;  // how much of it there is
};

void write_rows(const Tile& tile, const RowWriter& writer) {
  for (std::size_t plane = 0; plane < tile.planes; ++plane) {
    const char* from = tile.source + static_cast<std::ptrdiff_t>(plane) * tile.source_plane;
    char* to = tile.destination + static_cast<std::ptrdiff_t>(plane) * tile.destination_plane;
    for (std::size_t row = 0; row < tile.rows; ++row) {
      writer.write(from, to, tile.cols);
      from += tile.source_row;
      to += tile.destination_row;
    }
  }
}

// Cast the one element of each row, then fill the rows with them.
void write_repeated(const Tile& tile, TileKernel kernel, const RowWriter& writer, char* scratch) {
  const auto to_step = static_cast<std::ptrdiff_t>(writer.to_item());
  Tile filled = tile;
  filled.source = scratch;
  filled.source_row = to_step;
  filled.source_plane = static_cast<std::ptrdiff_t>(tile.rows) * to_step;
  for (std::size_t plane = 0; plane < tile.planes; ++plane) {
    const auto at = static_cast<std::ptrdiff_t>(plane);
    writer.write_run({tile.source + at * tile.source_plane, tile.source_row,
                      scratch + at * filled.source_plane, to_step, tile.rows});
  }
  kernel(filled);
}

}  // namespace

void carry_out(const Move& move, const RowWriter& writer, const void* source, void* destination,
               std::size_t shared_bytes) {
  if (move.outer.empty) return;
  const bool casts_first = move.way == Way::kCastFirst;
  const int item_index = std::countr_zero(casts_first ? writer.to_item() : writer.from_item());
  const TileKernel kernel = kernels().tiles.of[static_cast<int>(move.pattern)][item_index];
  const char* const from = static_cast<const char*>(source) + move.outer.source_offset;
  char* const to = static_cast<char*>(destination) + move.outer.destination_offset;
  const Grid grid(move, writer.to_item());
  const std::size_t tiles = grid.tiles();
  const auto run = [&](std::size_t begin, std::size_t end) {
    Position position(move, grid, begin);
    Scratch scratch(writer);
    for (std::size_t i = begin; i < end; ++i, position.advance()) {
      const Tile tile = position.tile(from, to);
      switch (move.way) {
        case Way::kDirect:
          kernel(tile);
          break;
        case Way::kScratch:
          scratch.move(tile, kernel);
          break;
        case Way::kInRows:
          write_rows(tile, writer);
          break;
        case Way::kCastFirst:
          write_repeated(tile, kernel, writer, scratch.memory());
      }
    }
    scratch.flush();
    writer.finish();
  };
  if (shared_bytes == 0) {
    run(0, tiles);
    return;
  }
  const std::size_t tile_bytes =
      move.tile_planes * move.tile_rows * move.tile_cols * (writer.from_item() + writer.to_item());
  host::parallel_for(tiles, std::max<std::size_t>(1, piece_bytes(shared_bytes) / tile_bytes), run);
}

}  // namespace ashore
