// What a stream has to do: one piece of work, and the stream itself. Used by sim_timeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "device/sim_fingerprint.hpp"
#include "device/sim_guard.hpp"
#include "device/simulator_api.hpp"

namespace ashore::device::sim {

/// A place in a stream: after the work with this number. Numbers grow over all streams together.
struct Point {
  std::uint64_t stream = 0;
  std::uint64_t number = 0;
};

enum class WorkKind {
  kMark,      ///< only waits for what is in `after`
  kToDevice,  ///< from the host
  kToHost,
  kOnDevice,
  kFill,
};

/// A rectangle of rows on both sides. Addresses are those of the bytes, also for device memory.
struct Rows {
  std::byte* destination = nullptr;
  const std::byte* source = nullptr;
  std::size_t width_bytes = 0;
  std::size_t count = 1;
  std::size_t destination_pitch_bytes = 0;
  std::size_t source_pitch_bytes = 0;

  bool is_one_run() const {
    return count == 1 ||
           (width_bytes == destination_pitch_bytes && width_bytes == source_pitch_bytes);
  }
  std::size_t bytes() const { return width_bytes * count; }
  std::size_t destination_reach() const {
    return (count - 1) * destination_pitch_bytes + width_bytes;
  }
  std::size_t source_reach() const { return (count - 1) * source_pitch_bytes + width_bytes; }
};

struct Work {
  std::uint64_t number = 0;
  WorkKind kind = WorkKind::kMark;
  Device device = 0;
  Rows rows;
  unsigned char value = 0;   ///< of kFill
  bool is_pageable = false;  ///< the host's side: staged at once, or complete on return
  bool is_watched = false;   ///< the pinned source must stay as it is: `print` is to be compared
  bool has_landed = false;   ///< the bytes are in the host's memory
  std::uint64_t origin = 0;
  /// The bytes between the two phases: what was staged, or what was taken on the way to the host.
  std::unique_ptr<std::byte[]> held;
  Fingerprint print;
  GuardSlot* guard = nullptr;
  std::vector<Point> after;
};

/// Whether two ranges share a byte.
inline bool overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b,
                    std::size_t b_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(a);
  const auto second = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && first < second + b_bytes && second < first + a_bytes;
}
/// Whether the work, before its device phase, will read one of these bytes.
inline bool reads(const Work& work, const std::byte* begin, std::size_t bytes) {
  if (work.kind == WorkKind::kMark || work.kind == WorkKind::kFill || work.held) return false;
  if (work.kind == WorkKind::kToDevice && work.is_pageable) return false;  // it was staged
  return overlap(work.rows.source, work.rows.source_reach(), begin, bytes);
}
inline bool writes(const Work& work, const std::byte* begin, std::size_t bytes) {
  if (work.kind == WorkKind::kMark) return false;
  return overlap(work.rows.destination, work.rows.destination_reach(), begin, bytes);
}

struct Stream {
  std::uint64_t id = 0;
  Device device = 0;
  bool is_default = false;   ///< the legacy default stream of its device
  bool is_blocking = false;  ///< waits for the default stream, and it for this one
  bool is_destroyed = false;
  int priority = 0;
  std::deque<Work> work;            ///< not yet waited for, or with something before it that is not
  std::size_t executed = 0;         ///< so much of it, from the front, has had its device phase
  std::uint64_t last_number = 0;    ///< of the newest work ever
  std::uint64_t done_number = 0;    ///< of the newest that is gone from `work`
  std::uint64_t looked_number = 0;  ///< up to which a query has said "not ready"
  std::vector<Point> known;         ///< the points of other streams that this one waits for already

  Point end() const { return {id, last_number}; }
};

}  // namespace ashore::device::sim
