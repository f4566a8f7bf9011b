// The simulated machine: all state behind the table, once per process and never destroyed. Called
// by the driver functions in sim_context, sim_allocate, sim_streams and sim_copies, and by
// sim_entry.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "core/thread_annotations.hpp"
#include "device/sim_faults.hpp"
#include "device/sim_guard.hpp"
#include "device/sim_memory.hpp"
#include "device/sim_pinned.hpp"
#include "device/sim_timeline.hpp"
#include "device/simulator_api.hpp"

namespace ashore::device::sim {

struct Event {
  Device device = 0;
  bool has_timing = true;
  bool is_recorded = false;
  Point point;
  std::int64_t recorded_ns = 0;
  std::uint64_t looked_number = 0;  ///< up to which a query has said "not ready"
};

/// Who is told of misuse. Never changed nor freed: read in signal handlers.
struct HookRecord {
  MisuseHook hook = nullptr;
  void* context = nullptr;
};

struct Machine {
  Mutex mutex;
  Guards guards;  ///< changed under the mutex, looked at by the handler without it

  SimulatorOptions options ASHORE_GUARDED_BY(mutex);
  DeviceMemory memory ASHORE_GUARDED_BY(mutex);
  PinnedMemory pinned ASHORE_GUARDED_BY(mutex);
  Timeline timeline ASHORE_GUARDED_BY(mutex){guards};
  std::list<HookRecord> hooks ASHORE_GUARDED_BY(mutex);  ///< all that there ever were
  std::unordered_map<std::uint64_t, Event> events ASHORE_GUARDED_BY(mutex);
  std::uint64_t next_event ASHORE_GUARDED_BY(mutex) = 0;
  int context_references[kMaxSimulatedDevices] ASHORE_GUARDED_BY(mutex) = {};
  SimulatorStatistics statistics ASHORE_GUARDED_BY(mutex);

  // Each with rules of its own.
  Faults faults;
  AddressSpace space;  ///< fixed before `is_configured` says so
  const std::atomic<std::int64_t>* pending = &timeline.pending();
  std::atomic<bool> is_configured{false};
  std::atomic<bool> is_initialized{false};
  std::atomic<bool> is_forked{false};  ///< the child of a process that had used the driver
  std::atomic<bool> has_reporter{false};
  std::atomic<const HookRecord*> hook{nullptr};
};

extern Machine& machine;

/// Set the machine up; see Simulator::configure.
const char* configure(const SimulatorOptions& options);

/// Tell the hook, or standard error. Outside all locks.
void report_misuse(const MisuseReport& report);

/// See Simulator::install_fault_reporter, and its handler.
void install_fault_reporter();
void install_fault_handler();

/// The line of the program that this thread is at.
extern thread_local std::uint64_t current_origin;

/// Holds the machine while a driver function runs, and reports what was found when it lets go.
class ASHORE_SCOPED_CAPABILITY Session {
 public:
  Session() ASHORE_ACQUIRE(machine.mutex);
  ~Session() ASHORE_RELEASE();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Whose context is current in this thread: an error, or a device.
  Error current_device(Device& device) ASHORE_REQUIRES(machine.mutex);
  /// The stream behind a handle, for a thread that has a context.
  Error find_stream(StreamHandle handle, Stream*& stream) ASHORE_REQUIRES(machine.mutex);
  Error find_event(EventHandle handle, Event*& event) ASHORE_REQUIRES(machine.mutex);
};

/// The stream behind a handle, the default one of this device for null; null where there is none.
Stream* stream_of_device(StreamHandle handle, Device device) ASHORE_REQUIRES(machine.mutex);

// Handles are numbers that no address and no other handle is, and none is used twice.
StreamHandle handle_of(const Stream& stream);
EventHandle event_handle(std::uint64_t id);
std::uint64_t event_id(EventHandle handle);
ContextHandle context_handle(Device device);
/// What ctx_set_current set in this thread.
ContextHandle thread_context();
ContextHandle exchange_context(ContextHandle context);
/// -1: no such context.
Device device_of_context(ContextHandle handle);

}  // namespace ashore::device::sim
