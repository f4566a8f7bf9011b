// Best-fit placement with merged neighbours.
#include "device/sim_arena.hpp"

#include <iterator>
#include <limits>

#include "core/assert.hpp"

namespace ashore::device::sim {
namespace {

constexpr std::size_t kLargeFrom = std::size_t{1} << 20;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr int kHolesTried = 8;  // for one in which a large block starts on a huge page

}  // namespace

Arena::Arena(std::size_t span_bytes, std::size_t capacity_bytes)
    : span_bytes_(span_bytes), capacity_bytes_(capacity_bytes) {
  add_hole({0, span_bytes});
}

bool Arena::allocate(std::size_t bytes, std::size_t& offset) {
  if (bytes > std::numeric_limits<std::size_t>::max() - kBlockAlignment) return false;
  const std::size_t taken = (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
  if (allocated_bytes_ > capacity_bytes_ || taken > capacity_bytes_ - allocated_bytes_)
    return false;
  Span hole;
  if (!place(taken, offset, hole)) return false;
  live_.emplace(offset, Live{taken, bytes});
  remove_hole(hole);
  const std::size_t end = offset + taken;
  if (offset > hole.offset) add_hole({hole.offset, offset - hole.offset});
  if (end < hole.offset + hole.bytes) add_hole({end, hole.offset + hole.bytes - end});
  allocated_bytes_ += taken;
  return true;
}

bool Arena::place(std::size_t bytes, std::size_t& offset, Span& hole) const {
  const auto best = by_size_.lower_bound({bytes, 0});
  if (best == by_size_.end()) return false;
  hole = {best->second, best->first};
  if (bytes < kLargeFrom) {
    offset = hole.offset;
    return true;
  }
  auto candidate = best;
  for (int i = 0; i < kHolesTried && candidate != by_size_.end(); ++i, ++candidate) {
    const auto [hole_bytes, begin] = *candidate;
    const std::size_t start = (begin + hole_bytes - bytes) / kHugePage * kHugePage;
    if (start >= begin) {
      hole = {begin, hole_bytes};
      offset = start;
      return true;
    }
  }
  offset = hole.offset + hole.bytes - bytes;
  return true;
}

bool Arena::free(std::size_t offset, Span& freed, Span& hole) {
  const auto found = live_.find(offset);
  if (found == live_.end()) return false;
  freed = {offset, found->second.taken_bytes};
  live_.erase(found);
  hole = freed;
  const auto next = holes_.lower_bound(offset);
  if (next != holes_.begin()) {
    const auto [begin, bytes] = *std::prev(next);
    if (begin + bytes == offset) {
      remove_hole({begin, bytes});
      hole = {begin, bytes + hole.bytes};
    }
  }
  // Looked up again: what was removed may have been this iterator's neighbour.
  const auto above = holes_.find(freed.offset + freed.bytes);
  if (above != holes_.end()) {
    const Span merged = {above->first, above->second};
    remove_hole(merged);
    hole.bytes += merged.bytes;
  }
  add_hole(hole);
  allocated_bytes_ -= freed.bytes;
  return true;
}

bool Arena::find(std::size_t offset, Span& block) const {
  auto after = live_.upper_bound(offset);
  if (after == live_.begin()) return false;
  --after;
  if (offset - after->first >= after->second.asked_bytes) return false;
  block = {after->first, after->second.asked_bytes};
  return true;
}

void Arena::add_hole(Span hole) {
  holes_.emplace(hole.offset, hole.bytes);
  by_size_.emplace(hole.bytes, hole.offset);
}

void Arena::remove_hole(Span hole) {
  ASHORE_ASSERT(holes_.count(hole.offset) == 1);
  holes_.erase(hole.offset);
  by_size_.erase({hole.bytes, hole.offset});
}

}  // namespace ashore::device::sim
