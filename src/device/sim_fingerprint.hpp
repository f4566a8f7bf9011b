// Fingerprints of memory that must not change while a copy is under way. Used by sim_timeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashore::device::sim {

/// One number for each piece of 4 KiB. A change of a single word always shows, others practically
/// always.
class Fingerprint {
 public:
  static constexpr std::size_t kPieceBytes = 4096;

  Fingerprint() = default;
  Fingerprint(const std::byte* begin, std::size_t bytes);

  /// Return the offset of the first piece that differs; `bytes` where none does.
  std::size_t first_difference(const std::byte* begin, std::size_t bytes) const;

 private:
  std::uint64_t first_ = 0;  // most copies are small: no allocation for these
  std::vector<std::uint64_t> rest_;
};

}  // namespace ashore::device::sim
