// The table that libashore_sim.so hands out, and what every driver function does first: count, fail
// where a test asked for it, refuse before init and after a fork.
#include <exception>
#include <new>
#include <utility>

#include "device/driver_errors.hpp"
#include "device/sim_calls.hpp"
#include "device/sim_machine.hpp"
#include "device/simulator_api.hpp"

namespace ashore::device::sim {
namespace calls {

Error get_error_name(Error error, const char** name) {
  if (name == nullptr) return Error::kInvalidValue;
  *name = error_name(error);
  return *name == nullptr ? Error::kInvalidValue : Error::kSuccess;
}

Error get_error_string(Error error, const char** text) {
  if (text == nullptr) return Error::kInvalidValue;
  *text = error_text(error);
  return *text == nullptr ? Error::kInvalidValue : Error::kSuccess;
}

}  // namespace calls

namespace {

constexpr bool works_uninitialized(int function) {
  return function == driver_function::init || function == driver_function::driver_get_version ||
         function == driver_function::get_error_name ||
         function == driver_function::get_error_string;
}

// Stands in the table for the function.
template <int function, auto* call>
struct Entry;
template <int function, typename... Arguments, Error (*call)(Arguments...)>
struct Entry<function, call> {
  static Error enter(Arguments... arguments) noexcept {
    if (machine.is_forked.load(std::memory_order_relaxed) &&
        (function == driver_function::init || !works_uninitialized(function))) {
      return Error::kNotInitialized;
    }
    if (const Error fault = machine.faults.on_call(function); fault != Error::kSuccess) {
      return fault;
    }
    if (!works_uninitialized(function)) {
      if (!machine.is_initialized.load(std::memory_order_acquire)) return Error::kNotInitialized;
      if (const Error broken = machine.faults.broken(); broken != Error::kSuccess) return broken;
    }
    try {
      return call(arguments...);
    } catch (const std::bad_alloc&) {
      return Error::kOutOfMemory;
    } catch (const std::exception&) {
      return Error::kUnknown;
    }
  }
};

constexpr DriverTable kTable = {
#define ASHORE_DRIVER_FUNCTION(member, name, symbol, introduced, required, parameters) \
  Entry<driver_function::member, &calls::member>::enter,
#include "device/driver_functions.inc"
#undef ASHORE_DRIVER_FUNCTION
};

SimulatorOptions get_options() {
  const Session session;
  return machine.options;
}

AddressSpace get_address_space() {
  return machine.is_configured.load(std::memory_order_acquire) ? machine.space : AddressSpace{};
}

void begin_kernel(Device device, StreamHandle stream) {
  // Nothing can be ordered before the kernel where nothing is under way; so it is in a forked
  // child.
  if (machine.pending->load(std::memory_order_relaxed) != 0) calls::begin_kernel(device, stream);
}

void set_origin(std::uint64_t origin) { current_origin = origin; }

void set_misuse_hook(MisuseHook hook, void* context) {
  const Session session;
  for (const HookRecord& record : machine.hooks) {
    if (record.hook == hook && record.context == context) {
      machine.hook.store(&record, std::memory_order_release);
      return;
    }
  }
  machine.hooks.push_back({hook, context});
  machine.hook.store(&machine.hooks.back(), std::memory_order_release);
}

bool inject_fault(const char* function, std::int64_t nth, std::int64_t count, Error error) {
  const int index = function == nullptr ? -1 : find_driver_function(function);
  if (index < 0) return false;
  machine.faults.inject(index, nth, count, error);
  return true;
}

void break_device(Error error) {
  const bool was_broken = machine.faults.break_device(error) != Error::kSuccess;
  const bool is_broken = error != Error::kSuccess;
  const Session session;
  if (is_broken != was_broken) machine.timeline.hold_pending(is_broken);
}

void clear_faults() {
  machine.faults.clear();
  break_device(Error::kSuccess);
}

SimulatorStatistics get_statistics() {
  const Session session;
  return machine.statistics;
}

void reset_statistics() {
  machine.faults.reset_calls();
  const Session session;
  const SimulatorStatistics before = std::exchange(machine.statistics, {});
  // What is held is no count: it stays, and is the peak from now on.
  machine.statistics.pinned_bytes = machine.statistics.peak_pinned_bytes = before.pinned_bytes;
  for (int i = 0; i < kMaxSimulatedDevices; ++i) {
    machine.statistics.allocated_bytes[i] = machine.statistics.peak_allocated_bytes[i] =
        before.allocated_bytes[i];
  }
}

std::int64_t count_calls(const char* function) {
  const int index = function == nullptr ? -1 : find_driver_function(function);
  return index < 0 ? -1 : machine.faults.calls(index);
}

Error set_memory(Device device, std::size_t memory_bytes) {
  const Session session;
  if (device < 0 || device >= machine.options.device_count ||
      !machine.is_configured.load(std::memory_order_relaxed)) {
    return Error::kInvalidDevice;
  }
  return machine.memory.set_capacity(device, memory_bytes);
}

const Simulator& simulator() {
  static const Simulator made = [] {
    Simulator table;
    table.driver = &kTable;
    table.configure = configure;
    table.options = get_options;
    table.address_space = get_address_space;
    table.pending = machine.pending;
    table.begin_kernel = begin_kernel;
    table.set_origin = set_origin;
    table.set_misuse_hook = set_misuse_hook;
    table.inject_fault = inject_fault;
    table.clear_faults = clear_faults;
    table.statistics = get_statistics;
    table.reset_statistics = reset_statistics;
    table.count_calls = count_calls;
    table.set_memory = set_memory;
    table.install_fault_reporter = install_fault_reporter;
    table.break_device = break_device;
    return table;
  }();
  return made;
}

}  // namespace
}  // namespace ashore::device::sim

extern "C" __attribute__((visibility("default"))) const ashore::device::Simulator* ashore_simulator(
    std::uint32_t version) {
  return version == ashore::device::kSimulatorVersion ? &ashore::device::sim::simulator() : nullptr;
}
