// The state of the simulated machine: set up once, looked at under its mutex, left alone by forks
// and exit.
#include "device/sim_machine.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "host/address_space.hpp"
#include "host/fork.hpp"
#include "host/segv.hpp"

namespace ashore::device::sim {

// Never destroyed: other threads and other libraries may call until the process is gone.
Machine& machine = *new Machine;
thread_local std::uint64_t current_origin = 0;

namespace {

constexpr std::uintptr_t kStreamHandles = 0x5A0100000000;
constexpr std::uintptr_t kEventHandles = 0x5A0200000000;
constexpr std::uintptr_t kContextHandles = 0x5A0300000000;
constexpr std::uintptr_t kHandleStep = 16;
constexpr std::uintptr_t kHandleRange = 0x100000000;

thread_local ContextHandle current_context = nullptr;
thread_local std::array<std::uint64_t, kMaxSimulatedDevices> own_streams = {};

template <typename Handle>
Handle to_handle(std::uintptr_t base, std::uint64_t id) {
  return reinterpret_cast<Handle>(host::pointer_to(base + id * kHandleStep));
}

template <typename Handle>
bool to_id(std::uintptr_t base, Handle handle, std::uint64_t& id) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number < base || number - base >= kHandleRange || number % kHandleStep != 0) return false;
  id = (number - base) / kHandleStep;
  return true;
}

bool same(const SimulatorOptions& a, const SimulatorOptions& b) {
  return a.device_count == b.device_count && a.memory_bytes == b.memory_bytes &&
         a.late_copies == b.late_copies && a.guard_pinned == b.guard_pinned &&
         a.protect_device == b.protect_device && a.poison == b.poison &&
         a.driver_version == b.driver_version && std::strncmp(a.name, b.name, sizeof a.name) == 0;
}

// The mutexes are held over the fork, so that the child finds whole state.
void before_fork() ASHORE_NO_THREAD_SAFETY_ANALYSIS {
  machine.mutex.lock();
  machine.faults.before_fork();
}
void in_parent() ASHORE_NO_THREAD_SAFETY_ANALYSIS {
  machine.faults.after_fork();
  machine.mutex.unlock();
}
void in_child() ASHORE_NO_THREAD_SAFETY_ANALYSIS {
  // Where the driver was never used, the child is as free as any process.
  if (machine.is_initialized.load(std::memory_order_relaxed)) {
    machine.is_forked.store(true, std::memory_order_relaxed);
    machine.timeline.abandon();
    machine.guards.open_all();
  }
  machine.faults.after_fork();
  machine.mutex.unlock();
}

}  // namespace

const char* configure(const SimulatorOptions& options) {
  if (machine.is_forked.load(std::memory_order_relaxed)) {
    return "this process was forked from one that had used the simulated driver; start a new one";
  }
  const Session session;
  if (machine.is_configured.load(std::memory_order_relaxed)) {
    return same(options, machine.options) ? nullptr
                                          : "the simulated driver is configured already, with "
                                            "other options; do it once, first";
  }
  if (options.device_count < 0 || options.device_count > kMaxSimulatedDevices) {
    static_assert(kMaxSimulatedDevices == 16);
    return "device_count is out of range; it must be from 0 to 16";
  }
  if (std::memchr(options.name, '\0', sizeof options.name) == nullptr) {
    return "name has no end; it may have at most 255 bytes";
  }
  if (options.poison != Poison::kBytes && options.poison != Poison::kOldContents) {
    return "poison is out of range; it must be kBytes or kOldContents";
  }
  if (const char* problem = machine.memory.reserve(options)) return problem;
  machine.options = options;
  machine.space = machine.memory.space();
  machine.timeline.configure(options);
  host::on_fork(before_fork, in_parent, in_child);
  machine.is_configured.store(true, std::memory_order_release);
  if (options.guard_pinned) install_fault_handler();
  return nullptr;
}

void report_misuse(const MisuseReport& report) {
  const HookRecord* const record = machine.hook.load(std::memory_order_acquire);
  if (record != nullptr && record->hook != nullptr) {
    record->hook(report, record->context);
    return;
  }
  if (report.kind != Misuse::kSourceChanged || report.in_signal_handler) return;
  char line[256];
  const int length = std::snprintf(line, sizeof line,
                                   "ashore: the pinned source of a copy of %zu bytes to device %d "
                                   "was changed at %p before the copy "
                                   "was waited for (origin %" PRIu64 ")\n",
                                   report.size_bytes, report.device, report.address, report.origin);
  if (length > 0) host::write_error(line, static_cast<std::size_t>(length));
}

Session::Session() { machine.mutex.lock(); }

Session::~Session() {
  std::vector<MisuseReport> reports;
  if (machine.timeline.has_reports()) reports = machine.timeline.take_reports();
  machine.mutex.unlock();
  for (const MisuseReport& report : reports) report_misuse(report);
}

Error Session::current_device(Device& device) {
  if (current_context == nullptr) return Error::kInvalidContext;
  device = device_of_context(current_context);
  if (machine.context_references[device] == 0) return Error::kContextIsDestroyed;
  return Error::kSuccess;
}

Error Session::find_stream(StreamHandle handle, Stream*& stream) {
  Device device = 0;
  if (const Error error = current_device(device); error != Error::kSuccess) return error;
  stream = stream_of_device(handle, device);
  return stream == nullptr ? Error::kInvalidHandle : Error::kSuccess;
}

Stream* stream_of_device(StreamHandle handle, Device device) {
  Timeline& timeline = machine.timeline;
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number == 0 || number == kLegacyStreamNumber) return &timeline.default_stream(device);
  if (number == kPerThreadStreamNumber) {
    std::uint64_t& own = own_streams[static_cast<std::size_t>(device)];
    Stream* stream = own == 0 ? nullptr : timeline.find_stream(own);
    if (stream == nullptr) stream = &timeline.create_stream(device, true, 0);
    own = stream->id;
    return stream;
  }
  std::uint64_t id = 0;
  if (!to_id(kStreamHandles, handle, id) || id < kMaxSimulatedDevices) return nullptr;
  return timeline.find_stream(id);
}

Error Session::find_event(EventHandle handle, Event*& event) {
  Device device = 0;
  if (const Error error = current_device(device); error != Error::kSuccess) return error;
  const auto found = machine.events.find(event_id(handle));
  if (found == machine.events.end()) return Error::kInvalidHandle;
  event = &found->second;
  return Error::kSuccess;
}

StreamHandle handle_of(const Stream& stream) {
  return to_handle<StreamHandle>(kStreamHandles, stream.id);
}

EventHandle event_handle(std::uint64_t id) { return to_handle<EventHandle>(kEventHandles, id); }

std::uint64_t event_id(EventHandle handle) {
  std::uint64_t id = 0;
  return to_id(kEventHandles, handle, id) ? id : ~std::uint64_t{0};
}

ContextHandle context_handle(Device device) {
  return to_handle<ContextHandle>(kContextHandles, static_cast<std::uint64_t>(device));
}

Device device_of_context(ContextHandle handle) {
  std::uint64_t id = 0;
  const bool is_ours = to_id(kContextHandles, handle, id) && id < kMaxSimulatedDevices;
  return is_ours ? static_cast<Device>(id) : -1;
}

ContextHandle exchange_context(ContextHandle context) {
  return std::exchange(current_context, context);
}
ContextHandle thread_context() { return current_context; }

}  // namespace ashore::device::sim
