// The simulator's driver functions about streams and events.
#include <chrono>

#include "device/sim_calls.hpp"
#include "device/sim_machine.hpp"

namespace ashore::device::sim::calls {
namespace {

constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A query says "not ready" on the first look and does the work meanwhile, so that polling ends,
// after the same number of looks each time.
Error look(Point point, std::uint64_t& looked_number) ASHORE_REQUIRES(machine.mutex) {
  Timeline& timeline = machine.timeline;
  if (timeline.is_done(point)) return Error::kSuccess;
  if (looked_number >= point.number) {
    timeline.finish(point);
    return Error::kSuccess;
  }
  looked_number = point.number;
  timeline.advance(point);
  return Error::kNotReady;
}

// Its own handle may be destroyed; a default stream has none.
bool is_destroyable(StreamHandle handle) {
  return reinterpret_cast<std::uintptr_t>(handle) > kPerThreadStreamNumber;
}

}  // namespace

Error stream_create(StreamHandle* stream, unsigned flags) {
  return stream_create_with_priority(stream, flags, 0);
}

Error stream_create_with_priority(StreamHandle* stream, unsigned flags, int priority) {
  Session session;
  Device device = 0;
  if (const Error error = session.current_device(device); error != Error::kSuccess) return error;
  if (stream == nullptr || (flags & ~kStreamNonBlocking) != 0) return Error::kInvalidValue;
  if (priority > kLeastPriority) priority = kLeastPriority;
  if (priority < kGreatestPriority) priority = kGreatestPriority;
  const bool is_blocking = (flags & kStreamNonBlocking) == 0;
  *stream = handle_of(machine.timeline.create_stream(device, is_blocking, priority));
  return Error::kSuccess;
}

Error stream_destroy(StreamHandle handle) {
  Session session;
  Stream* stream = nullptr;
  if (const Error error = session.find_stream(handle, stream); error != Error::kSuccess) {
    return error;
  }
  if (!is_destroyable(handle)) return Error::kInvalidHandle;
  machine.timeline.destroy_stream(*stream);
  return Error::kSuccess;
}

Error stream_query(StreamHandle handle) {
  Session session;
  Stream* stream = nullptr;
  if (const Error error = session.find_stream(handle, stream); error != Error::kSuccess) {
    return error;
  }
  return look(machine.timeline.mark(*stream), stream->looked_number);
}

Error stream_synchronize(StreamHandle handle) {
  Session session;
  Stream* stream = nullptr;
  if (const Error error = session.find_stream(handle, stream); error != Error::kSuccess) {
    return error;
  }
  ++machine.statistics.synchronizations;
  machine.timeline.finish(machine.timeline.mark(*stream));
  return Error::kSuccess;
}

Error stream_wait_event(StreamHandle handle, EventHandle event_of, unsigned flags) {
  Session session;
  Stream* stream = nullptr;
  Event* event = nullptr;
  if (const Error error = session.find_stream(handle, stream); error != Error::kSuccess) {
    return error;
  }
  if (const Error error = session.find_event(event_of, event); error != Error::kSuccess) {
    return error;
  }
  if (flags > 1) return Error::kInvalidValue;  // 1 is CU_EVENT_WAIT_EXTERNAL
  if (!event->is_recorded) return Error::kSuccess;
  machine.timeline.mark(*stream);
  machine.timeline.wait_for(*stream, event->point);
  return Error::kSuccess;
}

Error event_create(EventHandle* event, unsigned flags) {
  Session session;
  Device device = 0;
  if (const Error error = session.current_device(device); error != Error::kSuccess) return error;
  constexpr unsigned kKnown = kEventBlockingSync | kEventDisableTiming | kEventInterprocess;
  const bool has_timing = (flags & kEventDisableTiming) == 0;
  if (event == nullptr || (flags & ~kKnown) != 0) return Error::kInvalidValue;
  if ((flags & kEventInterprocess) != 0 && has_timing) return Error::kInvalidValue;
  const std::uint64_t id = machine.next_event++;
  Event& made = machine.events[id];
  made.device = device;
  made.has_timing = has_timing;
  *event = event_handle(id);
  return Error::kSuccess;
}

Error event_destroy(EventHandle handle) {
  Session session;
  Event* event = nullptr;
  if (const Error error = session.find_event(handle, event); error != Error::kSuccess) return error;
  machine.events.erase(event_id(handle));
  return Error::kSuccess;
}

Error event_record(EventHandle handle, StreamHandle stream_of) {
  Session session;
  Stream* stream = nullptr;
  Event* event = nullptr;
  if (const Error error = session.find_event(handle, event); error != Error::kSuccess) return error;
  if (const Error error = session.find_stream(stream_of, stream); error != Error::kSuccess) {
    return error;
  }
  if (stream->device != event->device) return Error::kInvalidHandle;
  event->point = machine.timeline.mark(*stream);
  event->is_recorded = true;
  event->looked_number = 0;
  if (event->has_timing) event->recorded_ns = now_ns();
  return Error::kSuccess;
}

Error event_query(EventHandle handle) {
  Session session;
  Event* event = nullptr;
  if (const Error error = session.find_event(handle, event); error != Error::kSuccess) return error;
  return event->is_recorded ? look(event->point, event->looked_number) : Error::kSuccess;
}

Error event_synchronize(EventHandle handle) {
  Session session;
  Event* event = nullptr;
  if (const Error error = session.find_event(handle, event); error != Error::kSuccess) return error;
  ++machine.statistics.synchronizations;
  if (event->is_recorded) machine.timeline.finish(event->point);
  return Error::kSuccess;
}

Error event_elapsed_time(float* milliseconds, EventHandle first, EventHandle second) {
  Session session;
  Event* begin = nullptr;
  Event* end = nullptr;
  if (const Error error = session.find_event(first, begin); error != Error::kSuccess) return error;
  if (const Error error = session.find_event(second, end); error != Error::kSuccess) return error;
  if (milliseconds == nullptr) return Error::kInvalidValue;
  for (const Event* event : {begin, end}) {
    if (!event->has_timing || !event->is_recorded || event->device != begin->device) {
      return Error::kInvalidHandle;
    }
  }
  Timeline& timeline = machine.timeline;
  if (!timeline.is_done(begin->point) || !timeline.is_done(end->point)) return Error::kNotReady;
  *milliseconds =
      static_cast<float>(static_cast<double>(end->recorded_ns - begin->recorded_ns) / 1e6);
  return Error::kSuccess;
}

void begin_kernel(Device device, StreamHandle handle) {
  const Session session;
  if (device < 0 || device >= machine.options.device_count) return;
  Stream* stream = stream_of_device(handle, device);
  if (stream != nullptr) machine.timeline.advance(machine.timeline.mark(*stream));
}

}  // namespace ashore::device::sim::calls
