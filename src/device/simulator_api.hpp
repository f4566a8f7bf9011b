// What libashore_sim.so offers: one exported function that returns a versioned table. Included by
// the tests, by the engine's simulated driver, and by the emulator, which is compiled on the user's
// machine and therefore gets this header, driver_api.hpp and driver_table.hpp, and nothing else of
// src.
//
// The state behind the table exists once per process, whoever opens the library by its full path.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/driver_table.hpp"

namespace ashore::device {

inline constexpr std::uint32_t kSimulatorVersion = 1;
inline constexpr int kMaxSimulatedDevices = 16;

/// What a destination of a late copy holds until the copy is carried out.
enum class Poison : std::uint32_t {
  kBytes = 0,        ///< 0xFF: NaN in every float, -1 in every int
  kOldContents = 1,  ///< what it held before: the more literal, the harder to notice
};

/// How the simulated machine is made up. Set once, before the first `init`.
struct SimulatorOptions {
  int device_count = 1;
  std::size_t memory_bytes = std::size_t{8} << 30;  ///< of each device
  bool late_copies = true;     ///< false: each copy is done when its call returns
  bool guard_pinned = false;   ///< pinned memory under a copy under way faults on a wrong access
  bool protect_device = true;  ///< device addresses cannot be read by host code
  Poison poison = Poison::kBytes;
  char name[256] = "Emulated GPU";
  int driver_version = 13000;
};

/// Where device memory is. Device addresses are reserved without access; the bytes of address `d`
/// live at `d + host_offset` (0 where protect_device is off). Device n owns [device_base + n *
/// span_bytes, device_base + (n + 1) * span_bytes).
struct AddressSpace {
  std::uintptr_t device_base = 0;
  std::size_t span_bytes = 0;
  std::ptrdiff_t host_offset = 0;
  int device_count = 0;
};

/// What went wrong with a copy under way.
enum class Misuse : std::uint32_t {
  kSourceChanged = 0,  ///< the pinned source of a copy was written before the copy was waited for
  kReadEarly = 1,      ///< guard_pinned: the destination was read before the copy was waited for
  kWrittenEarly =
      2,  ///< guard_pinned: source or destination was written before the copy was waited for
};

struct MisuseReport {
  Misuse kind;
  std::uint64_t origin;    ///< what set_origin said in the thread that enqueued the copy
  const void* address;     ///< first wrong byte that is known
  std::size_t size_bytes;  ///< of the copy
  int device;
  /// True inside a signal handler: then only async-signal-safe calls may be made. The access is let
  /// through when the hook returns.
  bool in_signal_handler;
};

/// Called outside all locks. Null: kSourceChanged is written to standard error, one line.
using MisuseHook = void (*)(const MisuseReport&, void* context);

/// Counts since the start or the last reset. Peaks are of one device each.
struct SimulatorStatistics {
  std::int64_t host_to_device_copies = 0, host_to_device_bytes = 0;
  std::int64_t device_to_host_copies = 0, device_to_host_bytes = 0;
  std::int64_t device_to_device_copies = 0, device_to_device_bytes = 0;
  std::int64_t synchronizations = 0;  ///< calls that made the host wait: stream, event, context
  std::int64_t allocations = 0, pinned_bytes = 0, peak_pinned_bytes = 0;
  std::int64_t allocated_bytes[kMaxSimulatedDevices] = {};
  std::int64_t peak_allocated_bytes[kMaxSimulatedDevices] = {};
};

/// The versioned table. Later versions add at the end.
struct Simulator {
  std::uint32_t version = kSimulatorVersion;
  std::uint32_t size_bytes = sizeof(Simulator);
  const DriverTable* driver = nullptr;

  /// Set the machine up. Returns null, or one line that says what is wrong (options out of range,
  /// address space that cannot be reserved, already configured otherwise); the text lives as long
  /// as the process.
  const char* (*configure)(const SimulatorOptions& options) = nullptr;
  SimulatorOptions (*options)() = nullptr;
  AddressSpace (*address_space)() = nullptr;

  /// Copies enqueued and not yet waited for by the host, of all streams. Read with relaxed order to
  /// skip the calls below where nothing is under way.
  const std::atomic<std::int64_t>* pending = nullptr;

  /// Say that a kernel is about to run on the stream, now and on the calling thread: everything
  /// that is ordered before it (earlier copies to the device, waited-for events) takes effect in
  /// device memory. Copies to the host take their bytes now and still arrive late.
  void (*begin_kernel)(Device device, StreamHandle stream) = nullptr;

  /// A number that stands for the caller's source line, kept with each copy this thread enqueues.
  void (*set_origin)(std::uint64_t origin) = nullptr;
  void (*set_misuse_hook)(MisuseHook hook, void* context) = nullptr;

  /// Let the `nth` call from now (1 is the next) of the driver function, and the `count - 1` after
  /// it, return `error` and do nothing else. `function` is CUDA's name ("cuMemAlloc"). False: no
  /// such function.
  bool (*inject_fault)(const char* function, std::int64_t nth, std::int64_t count,
                       Error error) = nullptr;
  void (*clear_faults)() = nullptr;

  SimulatorStatistics (*statistics)() = nullptr;
  void (*reset_statistics)() = nullptr;
  /// Calls of one driver function since the start or the last reset; -1: no such function.
  std::int64_t (*count_calls)(const char* function) = nullptr;

  /// Change a device's capacity. What is allocated stays.
  Error (*set_memory)(Device device, std::size_t memory_bytes) = nullptr;

  /// Let a stray host access to device memory die with one line that names the device and the
  /// block, by a SIGSEGV handler that hands everything else to the one before it.
  void (*install_fault_reporter)() = nullptr;

  /// Let every driver call that needs a device fail with `error` from now on, as CUDA does after a
  /// kernel's assertion or a wrong address, but on all devices. `pending` is not 0 any more. Only
  /// clear_faults mends it.
  void (*break_device)(Error error) = nullptr;
};

}  // namespace ashore::device

/// Return the table, or null where this library cannot serve `version`.
extern "C" const ashore::device::Simulator* ashore_simulator(std::uint32_t version);
