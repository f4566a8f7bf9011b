// Order between streams: which work must be done before which, by CUDA's rules.
#include "device/sim_timeline.hpp"

#include <algorithm>
#include <iterator>

#include "core/assert.hpp"

namespace ashore::device::sim {
namespace {

// More work than this without a device phase is not kept waiting: finding what overlaps stays
// cheap.
constexpr std::size_t kMostWaiting = 256;

bool by_number(const Work* a, const Work* b) { return a->number < b->number; }

}  // namespace

Timeline::Timeline(Guards& guards) : guards_(guards) {
  for (Device device = 0; device < kMaxSimulatedDevices; ++device) {
    auto stream = std::make_unique<Stream>();
    stream->id = static_cast<std::uint64_t>(device);
    stream->device = device;
    stream->is_default = true;
    stream->is_blocking = true;
    streams_.emplace(stream->id, std::move(stream));
  }
}

void Timeline::configure(const SimulatorOptions& options) {
  is_late_ = options.late_copies;
  has_guards_ = options.guard_pinned && options.late_copies;
  poison_ = options.poison;
}

Stream& Timeline::create_stream(Device device, bool is_blocking, int priority) {
  auto made = std::make_unique<Stream>();
  Stream& stream = *made;
  stream.id = next_stream_++;
  stream.device = device;
  stream.is_blocking = is_blocking;
  stream.priority = priority;
  streams_.emplace(stream.id, std::move(made));
  return stream;
}

Stream* Timeline::find_stream(std::uint64_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() || found->second->is_destroyed ? nullptr : found->second.get();
}

Stream& Timeline::default_stream(Device device) {
  return *streams_.find(static_cast<std::uint64_t>(device))->second;
}

void Timeline::destroy_stream(Stream& stream) {
  stream.is_destroyed = true;
  if (is_done(stream.end())) streams_.erase(stream.id);
}

void Timeline::forget_device(Device device) {
  finish_device(device);
  std::erase_if(streams_, [&](const auto& entry) {
    return entry.second->device == device && !entry.second->is_default;
  });
}

Point Timeline::submit(Stream& stream, Work work) {
  if (!is_late_) {
    execute(work);
    land(work);
    return stream.end();
  }
  for (const Point& point : implied(stream)) {
    if (!learn(stream, point)) continue;
    work.after.push_back(point);
    has_marks_ = true;  // what is known of other streams is forgotten together with the marks
  }
  prepare(stream, work);
  work.number = ++clock_;
  stream.last_number = work.number;
  stream.work.push_back(std::move(work));
  pending_.fetch_add(1, std::memory_order_relaxed);
  if (stream.work.size() - stream.executed > kMostWaiting) advance(stream.end());
  return stream.end();
}

Point Timeline::mark(Stream& stream) {
  if (pending_.load(std::memory_order_relaxed) == 0) return stream.end();
  for (const Point& point : implied(stream)) wait_for(stream, point);
  return stream.end();
}

void Timeline::wait_for(Stream& stream, Point point) {
  if (is_done(point) || !learn(stream, point)) return;
  // Never added to an older mark: events may have been recorded behind that one.
  Work work;
  work.device = stream.device;
  work.number = ++clock_;
  work.after.push_back(point);
  stream.last_number = work.number;
  stream.work.push_back(std::move(work));
  has_marks_ = true;
}

// The legacy default stream and the blocking streams of its device wait for each other.
std::vector<Point> Timeline::implied(Stream& stream) {
  std::vector<Point> points;
  if (stream.is_default) {
    for (const auto& [id, other] : streams_) {
      if (other->device == stream.device && other->is_blocking && other.get() != &stream &&
          !other->work.empty()) {
        points.push_back(other->end());
      }
    }
  } else if (stream.is_blocking) {
    Stream& first = default_stream(stream.device);
    // What other blocking streams have queued comes before the next work of the default stream
    // only.
    if (!first.work.empty()) points.push_back(first.end());
  }
  return points;
}

// Remember that the stream waits for the point. Returns false where it did so already.
bool Timeline::learn(Stream& stream, Point point) {
  if (point.stream == stream.id) return false;
  for (Point& known : stream.known) {
    if (known.stream != point.stream) continue;
    if (known.number >= point.number) return false;
    known.number = point.number;
    return true;
  }
  stream.known.push_back(point);
  return true;
}

bool Timeline::is_done(Point point) {
  const auto found = streams_.find(point.stream);
  if (found == streams_.end()) return true;
  tidy(*found->second);
  return is_gone(point);
}

bool Timeline::is_gone(Point point) const {
  const auto found = streams_.find(point.stream);
  if (found == streams_.end()) return true;
  return found->second->work.empty() || point.number <= found->second->done_number;
}

// All streams with work up to the point, followed through what that work waits for. Without
// recursion: chains between streams may be long.
Timeline::Targets Timeline::closure(Point point, Phase phase) {
  Targets targets;
  std::vector<Point> open = {point};
  while (!open.empty()) {
    const Point next = open.back();
    open.pop_back();
    const auto found = streams_.find(next.stream);
    if (found == streams_.end()) continue;
    Stream& stream = *found->second;
    auto target = std::find_if(targets.begin(), targets.end(),
                               [&](const Target& t) { return t.stream == &stream; });
    if (target == targets.end()) target = targets.insert(target, {&stream, 0});
    if (next.number <= target->number) continue;
    auto work = stream.work.begin();
    if (phase == Phase::kDevice) work += static_cast<std::ptrdiff_t>(stream.executed);
    work = std::upper_bound(work, stream.work.end(), target->number,
                            [](std::uint64_t n, const Work& w) { return n < w.number; });
    for (; work != stream.work.end() && work->number <= next.number; ++work) {
      open.insert(open.end(), work->after.begin(), work->after.end());
    }
    target->number = next.number;
  }
  return targets;
}

void Timeline::advance(Point point) {
  if (is_done(point)) return;
  const Targets targets = closure(point, Phase::kDevice);
  run_device_phases(targets);
  clean_up(targets);
}

void Timeline::finish(Point point) {
  if (is_done(point)) return;
  const Targets targets = closure(point, Phase::kHost);
  run_device_phases(targets);
  run_host_phases(targets);
  clean_up(targets);
}

void Timeline::finish_device(Device device) {
  std::vector<Point> ends;
  for (const auto& [id, stream] : streams_) {
    if (stream->device == device && !stream->work.empty()) ends.push_back(stream->end());
  }
  for (const Point& end : ends) finish(end);
}

// In the order in which it was queued, over all streams: whatever waits was queued after what it
// waits for.
void Timeline::run_device_phases(const Targets& targets) {
  std::vector<Work*> ready;
  for (const Target& target : targets) {
    Stream& stream = *target.stream;
    for (; stream.executed < stream.work.size(); ++stream.executed) {
      Work& work = stream.work[stream.executed];
      if (work.number > target.number) break;
      ready.push_back(&work);
    }
  }
  if (targets.size() > 1) std::sort(ready.begin(), ready.end(), by_number);
  for (Work* work : ready) execute(*work);
}

void Timeline::run_host_phases(const Targets& targets) {
  std::vector<Work*> ready;
  for (const Target& target : targets) {
    for (Work& work : target.stream->work) {
      if (work.number > target.number) break;
      ready.push_back(&work);
    }
  }
  if (targets.size() > 1) std::sort(ready.begin(), ready.end(), by_number);
  for (Work* work : ready) complete(*work);
  for (const Target& target : targets) {
    Stream& stream = *target.stream;
    while (!stream.work.empty() && stream.work.front().number <= target.number) pop_front(stream);
  }
}

void Timeline::pop_front(Stream& stream) {
  if (stream.work.front().kind != WorkKind::kMark) pending_.fetch_sub(1, std::memory_order_relaxed);
  stream.done_number = stream.work.front().number;
  stream.work.pop_front();
  if (stream.executed > 0) --stream.executed;
}

// Drop from the front what no wait of the host would change.
void Timeline::tidy(Stream& stream) {
  while (!stream.work.empty()) {
    const Work& front = stream.work.front();
    if (front.kind != WorkKind::kMark && (stream.executed == 0 || !is_settled(front))) return;
    // Whatever waits for other streams is done only together with these.
    for (const Point& point : front.after) {
      if (!is_gone(point)) return;
    }
    pop_front(stream);
  }
}

void Timeline::clean_up(const Targets& targets) {
  for (const Target& target : targets) {
    tidy(*target.stream);
    if (target.stream->is_destroyed && target.stream->work.empty()) {
      streams_.erase(target.stream->id);
    }
  }
  // Without work the marks mean nothing any more; so all is done wherever nothing is pending.
  if (!has_marks_ || pending_.load(std::memory_order_relaxed) != 0) return;
  for (const auto& [id, stream] : streams_) {
    while (!stream->work.empty()) pop_front(*stream);
    stream->known.clear();
  }
  has_marks_ = false;
}

bool Timeline::is_settled(const Work& work) {
  if (work.kind == WorkKind::kToDevice) return !work.is_watched && work.guard == nullptr;
  return work.kind != WorkKind::kToHost || work.is_pageable;
}

void Timeline::advance_touching(const std::byte* begin, std::size_t bytes) {
  std::vector<Point> points;
  each_work([&](Stream& stream, Work& work, bool is_executed) {
    if (!is_executed && (reads(work, begin, bytes) || writes(work, begin, bytes)))
      points.push_back({stream.id, work.number});
  });
  for (const Point& point : points) advance(point);
}

void Timeline::finish_touching(const std::byte* begin, std::size_t bytes) {
  std::vector<Point> points;
  each_work([&](Stream& stream, Work& work, bool) {
    if (reads(work, begin, bytes) || writes(work, begin, bytes))
      points.push_back({stream.id, work.number});
  });
  for (const Point& point : points) finish(point);
}

}  // namespace ashore::device::sim
