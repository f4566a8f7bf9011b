// See streams.hpp. Kernels run at once on the calling thread; the simulated driver decides when
// copies take effect.
#include "streams.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

namespace ashore::emulator {

namespace {

// PyTorch's stream numbers (c10/cuda/CUDAStream.cpp): bit 0 says "of the pool", bits 1 to 4 the
// kind (priority), the rest the place in the pool. An external stream's number is its handle.
constexpr int kStreamsPerPool = 32;
constexpr int kPriorities = 2;  // default and high

struct DeviceStreams {
  std::mutex mutex;
  std::array<std::array<std::atomic<device::StreamHandle>, kStreamsPerPool>, kPriorities> pool{};
  std::array<std::atomic<std::uint32_t>, kPriorities> next{};
  std::atomic<device::ContextHandle> context{nullptr};
};
DeviceStreams& streams_of(int device) {
  static auto* all = new DeviceStreams[device::kMaxSimulatedDevices];  // never destroyed
  return all[device];
}

thread_local std::array<std::int64_t, device::kMaxSimulatedDevices> tl_streams{};
thread_local int tl_entered = -1;  // whose context is current in the driver for this thread

constexpr std::int64_t pool_id(int priority, std::uint32_t place) {
  return (static_cast<std::int64_t>(place) << 5) | (std::int64_t{priority + 1} << 1) | 1;
}

}  // namespace

void ensure_initialized() {
  static std::atomic<bool> is_done{false};
  if (C10_LIKELY(is_done.load(std::memory_order_relaxed))) return;
  check(g_machine.driver->init(0));
  is_done = true;
}

void enter_device(int device) {
  if (C10_LIKELY(tl_entered == device)) return;
  ensure_initialized();
  DeviceStreams& streams = streams_of(device);
  device::ContextHandle context = streams.context.load();
  if (context == nullptr) {
    const std::lock_guard lock(streams.mutex);
    context = streams.context.load();
    if (context == nullptr) {
      check(g_machine.driver->device_primary_ctx_retain(&context, device));
      streams.context = context;
    }
  }
  check(g_machine.driver->ctx_set_current(context));
  tl_entered = device;
}

std::int64_t current_stream_id(int device) { return tl_streams[static_cast<std::size_t>(device)]; }

std::int64_t exchange_stream_id(int device, std::int64_t id) {
  return std::exchange(tl_streams[static_cast<std::size_t>(device)], id);
}

std::int64_t next_pool_stream(int device, bool high_priority) {
  const int priority = high_priority ? 1 : 0;
  auto& next = streams_of(device).next[static_cast<std::size_t>(priority)];
  return pool_id(priority, next.fetch_add(1) % kStreamsPerPool);
}

device::StreamHandle stream_handle(int device, std::int64_t id) {
  if (id == 0) return nullptr;
  if ((id & 1) == 0) return reinterpret_cast<device::StreamHandle>(id);
  const auto place = static_cast<std::size_t>(id >> 5);
  const auto priority = static_cast<std::size_t>(((id >> 1) & 0xF) - 1);
  TORCH_CHECK(place < kStreamsPerPool && priority < kPriorities, "Unrecognized stream ", id);
  DeviceStreams& streams = streams_of(device);
  auto& slot = streams.pool[priority][place];
  if (const device::StreamHandle handle = slot.load()) return handle;
  enter_device(device);
  const std::lock_guard lock(streams.mutex);
  device::StreamHandle handle = slot.load();
  if (handle == nullptr) {
    constexpr unsigned kNonBlocking = 1;
    check(g_machine.driver->stream_create_with_priority(&handle, kNonBlocking,
                                                        priority == 0 ? 0 : -1));
    slot = handle;
  }
  return handle;
}

void begin_ordered_kernel(int device) {
  check_broken();
  g_machine.simulator->begin_kernel(device, stream_handle(device, current_stream_id(device)));
}

void wait_for_stream(int device, std::int64_t id) {
  check_fork();
  enter_device(device);
  check(g_machine.driver->stream_synchronize(stream_handle(device, id)));
}

void wait_for_current_stream(int device, const char* what) {
  note_wait(what);
  wait_for_stream(device, current_stream_id(device));
}

void wait_for_device(int device) {
  check_fork();
  enter_device(device);
  check(g_machine.driver->ctx_synchronize());
}

device::Error allocate_on(int device, device::DevicePointer* address, std::size_t size_bytes) {
  enter_device(device);
  return g_machine.driver->mem_alloc(address, size_bytes);
}

void free_on(int device, device::DevicePointer address) {
  if (is_broken()) return;  // nothing can be given back any more, and destructors come here
  enter_device(device);
  check(g_machine.driver->mem_free(address));
}

device::EventHandle record_event_on(int device, std::int64_t stream) {
  constexpr unsigned kDisableTiming = 2;
  enter_device(device);
  device::EventHandle event = nullptr;
  check(g_machine.driver->event_create(&event, kDisableTiming));
  check(g_machine.driver->event_record(event, stream_handle(device, stream)));
  return event;
}

bool is_event_done(int device, device::EventHandle event, bool wait) {
  enter_device(device);
  if (wait) {
    check(g_machine.driver->event_synchronize(event));
    return true;
  }
  const device::Error error = g_machine.driver->event_query(event);
  if (error == device::Error::kNotReady) return false;
  check(error);
  return true;
}

void destroy_event(device::EventHandle event) noexcept {
  // No context is needed for it, and in a forked child there is nothing left to destroy.
  static_cast<void>(g_machine.driver->event_destroy(event));
}

void synchronize_device(int device) {
  check_device(device);
  note_wait("torch.cuda.synchronize");
  wait_for_device(device);
}

StreamId current_stream(int device) {
  check_device(device);
  return {current_stream_id(device), device};
}

StreamId default_stream(int device) {
  check_device(device);
  return {0, device};
}

void set_current_stream(StreamId stream) {
  set_current_device(stream.device);
  exchange_stream_id(stream.device, stream.id);
}

StreamId pool_stream(int device, int priority) {
  check_device(device);
  const StreamId made{next_pool_stream(device, priority < 0), device};
  stream_handle(device, made.id);  // there from now on, also when the device is broken
  return made;
}

std::uint64_t native_stream(StreamId stream) {
  return reinterpret_cast<std::uint64_t>(stream_handle(stream.device, stream.id));
}

StreamId stream_of_native(std::uint64_t native, int device) {
  if (native == 0) return {0, device};
  DeviceStreams& streams = streams_of(device);
  for (int priority = 0; priority < kPriorities; ++priority) {
    for (std::uint32_t place = 0; place < kStreamsPerPool; ++place) {
      const auto handle = streams.pool[static_cast<std::size_t>(priority)][place].load();
      if (reinterpret_cast<std::uint64_t>(handle) == native)
        return {pool_id(priority, place), device};
    }
  }
  return {static_cast<std::int64_t>(native), device};
}

int stream_priority(StreamId stream) {
  return (stream.id & 1) != 0 && ((stream.id >> 1) & 0xF) == 2 ? -1 : 0;
}

}  // namespace ashore::emulator
