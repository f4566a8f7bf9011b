// Which host memory is pinned: allocated by the driver, or registered with it. Used by sim_machine,
// under its mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "device/driver_api.hpp"

namespace ashore::device::sim {

struct PinnedRange {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;  ///< as asked for
  std::size_t mapped_bytes =
      0;  ///< whole pages of ours; 0 where it is the caller's memory, registered
  Device device = 0;
};

class PinnedMemory {
 public:
  /// Map whole pages. kOutOfMemory where there are none.
  Error allocate(std::size_t bytes, Device device, PinnedRange& range);
  /// Unmap what `allocate` gave.
  Error free(std::uintptr_t begin);
  Error add(std::uintptr_t begin, std::size_t bytes, Device device);
  Error remove(std::uintptr_t begin);

  /// Find the range that holds all of the bytes.
  const PinnedRange* find(std::uintptr_t begin, std::size_t bytes) const;
  std::size_t bytes() const { return bytes_; }

 private:
  bool overlaps(std::uintptr_t begin, std::size_t bytes) const;

  std::map<std::uintptr_t, PinnedRange> ranges_;
  std::size_t bytes_ = 0;
};

}  // namespace ashore::device::sim
