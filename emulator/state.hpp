// What one process knows of its emulated devices: the simulated driver, where device memory lies,
// and which device is current. Included by every file of the emulator.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/simulator_api.hpp"
#include "emulator.hpp"

namespace ashore::emulator {

/// Set once by `start`, constant afterwards.
struct Machine {
  const device::Simulator* simulator = nullptr;
  const device::DriverTable* driver = nullptr;
  const std::atomic<std::int64_t>* pending = nullptr;  ///< copies under way
  std::uintptr_t device_base = 0;
  std::size_t span_bytes = 0;   ///< of one device
  std::size_t total_bytes = 0;  ///< of all
  std::ptrdiff_t host_offset = 0;
  int device_count = 0;
};
extern Machine g_machine;

extern constinit thread_local int tl_device;         ///< the current device
extern constinit thread_local int tl_kernel_device;  ///< whose kernel runs on this thread; -1: none

inline bool is_device_address(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - g_machine.device_base < g_machine.total_bytes;
}
/// The bytes behind a device address, or the address itself where it is the host's.
inline void* host_address(const void* address) {
  auto* bytes = const_cast<char*>(static_cast<const char*>(address));
  return is_device_address(address) ? bytes + g_machine.host_offset : bytes;
}
inline bool is_device_bytes(const void* host) {
  return is_device_address(static_cast<const char*>(host) - g_machine.host_offset);
}
/// The device address of bytes in device memory.
inline void* device_address(const void* host) {
  return const_cast<char*>(static_cast<const char*>(host)) - g_machine.host_offset;
}
/// Whose memory a device address is in.
inline int device_of(const void* address) {
  return static_cast<int>((reinterpret_cast<std::uintptr_t>(address) - g_machine.device_base) /
                          g_machine.span_bytes);
}

/// While it lives, host allocations of this thread come from the device's memory: the outputs of a
/// CPU kernel that stands for a CUDA kernel need no copy, and are counted.
class KernelScope {
 public:
  explicit KernelScope(int device) : before_(tl_kernel_device) { tl_kernel_device = device; }
  ~KernelScope() { tl_kernel_device = before_; }
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  int before_;
};

/// While it lives, the device is current.
class DeviceScope {
 public:
  explicit DeviceScope(int device) : before_(tl_device) { tl_device = device; }
  ~DeviceScope() { tl_device = before_; }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_;
};

inline c10::Device cuda_device(int index) {
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}

/// Throw c10::AcceleratorError with the words of PyTorch's CUDA error check.
[[noreturn]] void throw_cuda_error(device::Error error);
/// Throw if a driver call failed.
void check(device::Error error);

/// Let the device fail every kernel, copy and wait from now on, as CUDA does once a kernel has gone
/// wrong. The first error stays.
void break_device(device::Error error);
/// Throw its error if the device is broken.
void check_broken();
bool is_broken() noexcept;
/// Whether kernels are to tell their errors at once: CUDA_LAUNCH_BLOCKING=1.
bool is_launch_blocking();
/// Write a line of the device's, if there is one, to standard error, and one of ours with what is
/// known about it.
void report_failure(const std::string& line, const std::string& detail);

/// Throw what CUDA does in a forked child of a process that had used the device.
void check_fork();
/// Throw cudaErrorInvalidDevice if there is no such device.
void check_device(int device);

/// Let the calling thread's copies under way know the line of the user's program.
void note_origin();
/// Tell the wait hook, and the synchronisation debug mode, that the host waits for the device.
void note_wait(const char* what);

}  // namespace ashore::emulator
