// Chooses the pattern by which a walk is moved, its two axes and the size of its tiles.
//
// The columns are always the axis that the destination has compact. The rows are the source's
// compact axis where that is another one (a transpose, in some form); else the next axis. Where
// these two are short, a third axis makes planes of them.
#include <algorithm>
#include <utility>

#include "convert/move.hpp"
#include "convert/scratch.hpp"

namespace ashore {
namespace {

constexpr int kNoAxis = -1;
// Bytes of a tile that goes straight to its place: a part of the second-level cache.
constexpr std::size_t kDirectBytes = std::size_t{128} << 10;
// Columns of a transposed tile: runs that long are written to each row of the destination, and that
// many rows of the source are open at a time, within what the TLB holds.
constexpr std::size_t kTransposeCols = 256;
// Rows of a transposed tile: a cache line of the source.
constexpr std::size_t kTransposeRowBytes = 64;
// Columns of such a tile in the scratch, for items of 4 bytes and more: there the source's lines,
// asked for ahead, count alone, and four that follow each other cost less than four apart.
constexpr std::size_t kScratchCols = 64;
// Rows at least this long are cast from where they are.
constexpr std::size_t kLongRowElems = 256;

// Rows of a copy, in bytes, at least this long are streamed.
constexpr std::size_t kLeastStreamedRow = 512;

// Rows of fewer bytes than this are too short for tiles of two axes.
constexpr std::size_t kShortRow = 128;

std::int64_t magnitude(std::int64_t stride) noexcept { return stride < 0 ? -stride : stride; }

// The axis other than the last that steps the least in the source, if it steps less than the last.
int find_closest_axis(const Walk& walk) noexcept {
  const int last = walk.ndim - 1;
  int closest = kNoAxis;
  std::int64_t least = magnitude(walk.source_strides[last]);
  for (int axis = 0; axis < last; ++axis) {
    const std::int64_t step = magnitude(walk.source_strides[axis]);
    if (step == 0 || step >= least) continue;
    least = step;
    closest = axis;
  }
  return closest;
}

// Short columns that lie one behind the other along the destination's next axis: that axis and the
// one that lies closest in the source make the tile, so that lines are used up on both sides.
// Returns the latter, or kNoAxis where the two are one, or where all lines stay in the cache.
int find_closest_to_short(const Walk& walk, std::size_t from_item, std::size_t to_item) noexcept {
  const int last = walk.ndim - 1, next = last - 1;
  const auto cols = static_cast<std::size_t>(walk.shape[last]);
  if (last < 2 || cols * from_item >= kShortRow) return kNoAxis;
  if (walk.destination_strides[next] != static_cast<std::int64_t>(cols * to_item)) return kNoAxis;
  std::size_t bytes = from_item;
  for (int axis = 0; axis <= last; ++axis) bytes *= static_cast<std::size_t>(walk.shape[axis]);
  if (bytes < kDirectBytes) return kNoAxis;
  int closest = next;
  for (int axis = next - 1; axis >= 0; --axis) {
    const std::int64_t step = magnitude(walk.source_strides[axis]);
    if (step != 0 && step < magnitude(walk.source_strides[closest])) closest = axis;
  }
  return closest == next ? kNoAxis : closest;
}

bool is_channel_count(std::int64_t length) noexcept { return length >= 2 && length <= 4; }

struct Choice {
  Pattern pattern;
  int row_axis;
};

Choice choose(const Walk& walk, std::int64_t from_item, std::int64_t to_item) noexcept {
  const int last = walk.ndim - 1;
  const int next = last > 0 ? last - 1 : kNoAxis;
  if (walk.destination_strides[last] != to_item) return {Pattern::kScattered, kNoAxis};
  const std::int64_t step = walk.source_strides[last];
  if (step == from_item) return {Pattern::kRows, next};
  if (step == 0) return {Pattern::kFill, next};
  if (step == -from_item) return {Pattern::kReverse, next};
  const int closest = find_closest_axis(walk);
  if (closest == kNoAxis) return {Pattern::kGather, next};
  if (walk.source_strides[closest] != from_item) return {Pattern::kTranspose, closest};
  const std::int64_t cols = walk.shape[last];
  const std::int64_t rows = walk.shape[closest];
  if (is_channel_count(cols) && rows > cols &&
      walk.destination_strides[closest] == cols * to_item) {
    return {Pattern::kInterleave, closest};
  }
  if (is_channel_count(rows) && step == rows * from_item) {
    return {Pattern::kDeinterleave, closest};
  }
  return {Pattern::kTranspose, closest};
}

// Say whether a copy is streamed: where as much is read as written, in order, and whole lines are
// written.
bool pays_to_stream(const Move& move, std::size_t item) noexcept {
  const std::size_t row_bytes = move.whole.cols * item;
  const bool is_one_run = move.whole.destination_row == static_cast<std::ptrdiff_t>(row_bytes);
  switch (move.pattern) {
    case Pattern::kRows:
      return row_bytes >= kLeastStreamedRow;
    case Pattern::kReverse:
    case Pattern::kFill:
    case Pattern::kTranspose:
      return (is_one_run ? move.whole.rows * row_bytes : row_bytes) >= kLeastStreamedRow;
    default:
      return false;
  }
}

Way choose_way(const Move& move, const RowWriter& writer) noexcept {
  if (writer.is_copy()) {
    if (!writer.streams() || !pays_to_stream(move, writer.to_item())) return Way::kDirect;
    return move.pattern == Pattern::kRows ? Way::kInRows : Way::kScratch;
  }
  // Long rows of the source are cast from where they are.
  const bool has_long_rows = move.pattern == Pattern::kRows && move.whole.cols >= kLongRowElems;
  if (has_long_rows) return Way::kInRows;
  return move.pattern == Pattern::kFill && !writer.streams() ? Way::kCastFirst : Way::kScratch;
}

void choose_tile(Move& move, const RowWriter& writer, bool is_deep) noexcept {
  const auto fit = [](std::size_t want, std::size_t have) {
    return std::clamp<std::size_t>(want, 1, have);
  };
  const bool by_scratch = move.way == Way::kScratch, casts_first = move.way == Way::kCastFirst;
  const std::size_t from_item = writer.from_item();
  const std::size_t item = casts_first ? writer.to_item() : from_item;
  const std::size_t elems = (by_scratch ? kScratchBytes : kDirectBytes) / item;
  // Rows of which each has an element in the scratch.
  const std::size_t most_rows = casts_first ? kScratchBytes / item : elems;
  const std::size_t planes = move.whole.planes, rows = move.whole.rows, cols = move.whole.cols;
  if (is_deep) {  // a line of the closest axis, the rest of the other one
    const bool by_planes = move.goes_by_planes;
    std::size_t& closest = by_planes ? move.tile_planes : move.tile_rows;
    std::size_t& deep = by_planes ? move.tile_rows : move.tile_planes;
    move.tile_cols = cols;
    closest = fit(kTransposeRowBytes / from_item, by_planes ? planes : rows);
    deep = fit(std::min(elems / cols, most_rows) / closest, by_planes ? rows : planes);
    return;
  }
  switch (move.pattern) {
    case Pattern::kTranspose:
      if (by_scratch && from_item >= 4) {
        move.tile_rows = fit(elems / kScratchCols, rows);
        // Rows too few for a line leave room for longer ones.
        const bool has_lines = rows * from_item >= kTransposeRowBytes;
        move.tile_cols =
            fit(has_lines ? kScratchCols : std::min(elems / rows, kTransposeCols), cols);
        break;
      }
      move.tile_cols = fit(kTransposeCols, cols);
      move.tile_rows = fit(kTransposeRowBytes / from_item, rows);
      // Few columns leave room for more rows.
      if (cols <= kTransposeCols / 2) move.tile_rows = fit(elems / 4 / move.tile_cols, rows);
      break;
    case Pattern::kInterleave:
      move.tile_cols = cols;
      move.tile_rows = fit(elems / cols, rows);
      break;
    case Pattern::kDeinterleave:
      move.tile_rows = rows;
      move.tile_cols = fit(elems / rows, cols);
      break;
    default:
      move.tile_cols = fit(elems, cols);
      move.tile_rows = fit(std::min(elems / move.tile_cols, most_rows), rows);
  }
  if (move.tile_cols == cols && move.tile_rows == rows) {
    move.tile_planes = fit(std::min(elems / cols, most_rows) / rows, planes);
  }
}

// Which axes are those of the tiles, beside the columns.
struct Axes {
  int rows;
  int planes;
  bool is_deep = false;  // one of them is the destination's next, the other the source's closest
  bool goes_by_planes = false;
};

Axes choose_axes(const Walk& walk, const RowWriter& writer, Choice& choice) noexcept {
  const std::size_t from_item = writer.from_item();
  const int last = walk.ndim - 1;
  const int closest = find_closest_to_short(walk, from_item, writer.to_item());
  if (closest == kNoAxis) {
    const int next = last - 1 == choice.row_axis ? last - 2 : last - 1;
    return {choice.row_axis, std::max(next, kNoAxis)};
  }
  if (choice.pattern == Pattern::kInterleave || choice.pattern == Pattern::kDeinterleave) {
    choice.pattern = Pattern::kTranspose;
  }
  // Long rows have the faster loops, and squares need them compact in the source.
  const auto line = static_cast<std::int64_t>(kTransposeRowBytes / from_item);
  const bool has_squares = choice.pattern == Pattern::kTranspose &&
                           walk.source_strides[closest] == static_cast<std::int64_t>(from_item) &&
                           std::min(walk.shape[closest], walk.shape[last]) >= line / 2;
  if (has_squares || std::min(walk.shape[closest], line) > walk.shape[last - 1]) {
    return {closest, last - 1, true};
  }
  return {last - 1, closest, true, true};
}

}  // namespace

void choose_move(const Walk& walk, const RowWriter& writer, Move& move) noexcept {
  const std::size_t from_item = writer.from_item(), to_item = writer.to_item();
  move.outer.ndim = 0;
  move.outer.empty = walk.empty;
  move.outer.source_offset = walk.source_offset;
  move.outer.destination_offset = walk.destination_offset;
  const auto from_step = static_cast<std::ptrdiff_t>(from_item);
  const auto to_step = static_cast<std::ptrdiff_t>(to_item);
  move.whole = {nullptr, 0, 0, from_step, nullptr, 0, 0, 1, 1, 1, false};
  move.goes_by_planes = false;
  move.pattern = Pattern::kRows;
  if (from_item > kMostTileItem || to_item > kMostTileItem) {
    move.pattern = Pattern::kScattered;
    return;
  }
  Axes axes{kNoAxis, kNoAxis};
  if (walk.ndim > 0) {
    const int last = walk.ndim - 1;
    Choice choice = choose(walk, from_step, to_step);
    move.pattern = choice.pattern;
    if (move.pattern == Pattern::kScattered) return;
    axes = choose_axes(walk, writer, choice);
    move.pattern = choice.pattern;
    move.goes_by_planes = axes.goes_by_planes;
    move.whole.cols = static_cast<std::size_t>(walk.shape[last]);
    move.whole.source_col = walk.source_strides[last];
    for (int axis = 0; axis < last; ++axis) {
      if (axis == axes.rows) {
        move.whole.rows = static_cast<std::size_t>(walk.shape[axis]);
        move.whole.source_row = walk.source_strides[axis];
        move.whole.destination_row = walk.destination_strides[axis];
      } else if (axis == axes.planes) {
        move.whole.planes = static_cast<std::size_t>(walk.shape[axis]);
        move.whole.source_plane = walk.source_strides[axis];
        move.whole.destination_plane = walk.destination_strides[axis];
      } else {
        Walk& outer = move.outer;
        outer.shape[outer.ndim] = walk.shape[axis];
        outer.source_strides[outer.ndim] = walk.source_strides[axis];
        outer.destination_strides[outer.ndim] = walk.destination_strides[axis];
        ++outer.ndim;
      }
    }
  }
  move.way = choose_way(move, writer);
  choose_tile(move, writer, axes.is_deep);
}

const char* name(Pattern pattern) noexcept {
  switch (pattern) {
    case Pattern::kRows:
      return "rows";
    case Pattern::kReverse:
      return "reverse";
    case Pattern::kFill:
      return "fill";
    case Pattern::kGather:
      return "gather";
    case Pattern::kTranspose:
      return "transpose";
    case Pattern::kInterleave:
      return "interleave";
    case Pattern::kDeinterleave:
      return "deinterleave";
    case Pattern::kScattered:
      break;
  }
  return "scattered";
}

}  // namespace ashore
