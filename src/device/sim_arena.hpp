// Hands out ranges of a device's address space: offsets only, it touches no memory. Used by
// sim_memory.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace ashore::device::sim {

/// Every block starts at a multiple of this, and takes one.
inline constexpr std::size_t kBlockAlignment = 512;

struct Span {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// Best fit, with neighbours merged. What may be allocated is bounded by the capacity alone; the
/// span is larger, so that fragmentation takes address space and never memory. Small blocks grow
/// from the bottom and large ones from the top, which keeps the one from cutting up the other's
/// room.
class Arena {
 public:
  Arena(std::size_t span_bytes, std::size_t capacity_bytes);

  /// Allocate; false where the capacity does not allow it.
  bool allocate(std::size_t bytes, std::size_t& offset);
  /// Free the block that starts at `offset`; false where none does. `freed` is what it took, `hole`
  /// the free range that it lies in now.
  bool free(std::size_t offset, Span& freed, Span& hole);
  /// Find the live block that `offset` lies in, with the size that was asked for.
  bool find(std::size_t offset, Span& block) const;

  std::size_t capacity_bytes() const { return capacity_bytes_; }
  std::size_t allocated_bytes() const { return allocated_bytes_; }
  std::size_t span_bytes() const { return span_bytes_; }
  void set_capacity(std::size_t bytes) { capacity_bytes_ = bytes; }

  /// All free ranges, by offset.
  const std::map<std::size_t, std::size_t>& holes() const { return holes_; }

 private:
  struct Live {
    std::size_t taken_bytes;
    std::size_t asked_bytes;
  };

  bool place(std::size_t bytes, std::size_t& offset, Span& hole) const;
  void add_hole(Span hole);
  void remove_hole(Span hole);

  std::size_t span_bytes_;
  std::size_t capacity_bytes_;
  std::size_t allocated_bytes_ = 0;
  std::map<std::size_t, Live> live_;
  std::map<std::size_t, std::size_t> holes_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // (bytes, offset) of each hole
};

}  // namespace ashore::device::sim
