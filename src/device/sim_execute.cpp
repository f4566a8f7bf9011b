// What a piece of work does to bytes: poison when it is queued, its device phase, its host phase.
#include <algorithm>
#include <cstring>

#include "device/sim_timeline.hpp"

namespace ashore::device::sim {
namespace {

constexpr int kPoisonByte = 0xFF;

std::uintptr_t number_of(const std::byte* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

void copy_rows(const Rows& rows) {
  if (rows.bytes() == 0) return;
  if (rows.is_one_run()) {
    std::memmove(rows.destination, rows.source, rows.bytes());
    return;
  }
  for (std::size_t i = 0; i < rows.count; ++i) {
    std::memmove(rows.destination + i * rows.destination_pitch_bytes,
                 rows.source + i * rows.source_pitch_bytes, rows.width_bytes);
  }
}

void fill_rows(const Rows& rows, int value) {
  if (rows.bytes() == 0) return;
  for (std::size_t i = 0; i < rows.count; ++i) {
    std::memset(rows.destination + i * rows.destination_pitch_bytes, value, rows.width_bytes);
  }
}

// The rows without gaps between them, in memory of their own.
std::unique_ptr<std::byte[]> hold(const Rows& rows) {
  auto held = std::make_unique_for_overwrite<std::byte[]>(rows.bytes());
  Rows taken = rows;
  taken.destination = held.get();
  taken.destination_pitch_bytes = rows.width_bytes;
  copy_rows(taken);
  return held;
}

Rows from_held(const Work& work) {
  Rows rows = work.rows;
  rows.source = work.held.get();
  rows.source_pitch_bytes = rows.width_bytes;
  return rows;
}

// Lets the simulator itself at pinned bytes that may be guarded.
class Opened {
 public:
  Opened(Guards& guards, bool is_needed, const std::byte* begin, std::size_t bytes)
      : guards_(guards), is_needed_(is_needed), begin_(number_of(begin)), bytes_(bytes) {
    if (is_needed_) guards_.open(begin_, bytes_);
  }
  ~Opened() {
    if (is_needed_) guards_.restore(begin_, bytes_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  Guards& guards_;
  bool is_needed_;
  std::uintptr_t begin_;
  std::size_t bytes_;
};

}  // namespace

// Called before the work is in its stream, with what it waits for in `after`.
void Timeline::prepare(Stream& stream, Work& work) {
  settle_readers(stream, work);
  const Rows& rows = work.rows;
  if (work.kind == WorkKind::kToDevice) {
    if (work.is_pageable) {
      work.held = hold(rows);
    } else if (rows.is_one_run()) {
      bool is_coming = false;  // the source is itself the destination of a copy under way
      if (coming_ > 0)
        each_work([&](Stream&, Work& other, bool) {
          is_coming = is_coming || (other.kind == WorkKind::kToHost && !other.has_landed &&
                                    writes(other, rows.source, rows.bytes()));
        });
      if (!is_coming) {
        const Opened opened(guards_, has_guards_, rows.source, rows.bytes());
        work.print = Fingerprint(rows.source, rows.bytes());
        work.is_watched = true;
      }
    }
  }
  poison(work);
  if (work.kind == WorkKind::kToHost && !work.is_pageable) ++coming_;
  if (!has_guards_ || work.is_pageable || !rows.is_one_run()) return;
  if (work.kind == WorkKind::kToHost) {
    work.guard =
        guards_.guard(true, number_of(rows.destination), rows.bytes(), work.device, work.origin);
  } else if (work.is_watched) {
    work.guard =
        guards_.guard(false, number_of(rows.source), rows.bytes(), work.device, work.origin);
  }
}

// Work that is ordered before this and reads where poison is about to go must do so first. What is
// not ordered before it is a race, and is left to read poison.
void Timeline::settle_readers(Stream& stream, const Work& work) {
  const std::byte* const begin = work.rows.destination;
  const std::size_t bytes = work.rows.destination_reach();
  bool is_read = false;
  each_waiting([&](Work& other) { is_read = is_read || reads(other, begin, bytes); });
  if (is_read) {
    advance(stream.end());
    for (const Point& point : work.after) advance(point);
  }
  if (work.kind != WorkKind::kToHost) return;
  each_work([&](Stream&, Work& other, bool is_executed) {
    if (is_executed && other.is_watched && reads(other, begin, bytes)) check_source(other);
  });
}

void Timeline::poison(const Work& work) {
  if (poison_ != Poison::kBytes) return;
  if (work.kind == WorkKind::kToHost && work.is_pageable) return;
  const bool is_host = work.kind == WorkKind::kToHost;
  const Opened opened(guards_, has_guards_ && is_host, work.rows.destination,
                      work.rows.destination_reach());
  fill_rows(work.rows, kPoisonByte);
}

// The device phase.
void Timeline::execute(Work& work) {
  switch (work.kind) {
    case WorkKind::kMark:
      break;
    case WorkKind::kToDevice:
      copy_to_device(work);
      break;
    case WorkKind::kToHost:
      if (work.is_pageable || !is_late_) {
        copy_rows(work.rows);
        work.has_landed = true;
      } else {
        work.held = hold(work.rows);
        landing_.push_back(&work);
      }
      break;
    case WorkKind::kOnDevice:
      copy_rows(work.rows);
      break;
    case WorkKind::kFill:
      fill_rows(work.rows, work.value);
      break;
  }
}

void Timeline::copy_to_device(Work& work) {
  if (work.held) {
    copy_rows(from_held(work));
    work.held.reset();
    return;
  }
  // On a device the bytes of an earlier copy to the host would be there, whether the host waited or
  // not.
  const std::byte* const source = work.rows.source;
  const std::size_t bytes = work.rows.source_reach();
  const std::vector<Work*> landing = landing_;
  for (Work* other : landing) {
    if (writes(*other, source, bytes)) land(*other);
  }
  const Opened opened(guards_, has_guards_, source, bytes);
  copy_rows(work.rows);
}

// The host phase of a copy to the host.
void Timeline::land(Work& work) {
  if (work.kind != WorkKind::kToHost || work.has_landed) return;
  const Opened opened(guards_, has_guards_, work.rows.destination, work.rows.destination_reach());
  copy_rows(from_held(work));
  work.held.reset();
  work.has_landed = true;
  --coming_;
  std::erase(landing_, &work);
}

void Timeline::check_source(Work& work) {
  work.is_watched = false;
  const Rows& rows = work.rows;
  const Opened opened(guards_, has_guards_, rows.source, rows.bytes());
  const std::size_t changed = work.print.first_difference(rows.source, rows.bytes());
  if (changed == rows.bytes()) return;
  reports_.push_back({Misuse::kSourceChanged, work.origin, rows.source + changed, rows.bytes(),
                      work.device, false});
}

// The host phase.
void Timeline::complete(Work& work) {
  bool is_reported = false;
  if (work.guard != nullptr) is_reported = guards_.release(std::exchange(work.guard, nullptr));
  land(work);
  if (work.is_watched && !is_reported) check_source(work);
  work.is_watched = false;
}

}  // namespace ashore::device::sim
