// Streams and events of the emulated devices: PyTorch's numbers for them on one side, the simulated
// driver's handles on the other. Called by the device guard, the copies and the caching allocator.
#pragma once

#include <c10/core/Stream.h>

#include <cstdint>

#include "state.hpp"

namespace ashore::emulator {

/// The current stream of a device for this thread, as PyTorch numbers it.
std::int64_t current_stream_id(int device);
std::int64_t exchange_stream_id(int device, std::int64_t id);
/// The next stream of PyTorch's pool of 32 per device and priority.
std::int64_t next_pool_stream(int device, bool high_priority);
/// The driver's handle of a stream; created on first use.
device::StreamHandle stream_handle(int device, std::int64_t id);

/// What begin_kernel does while something is under way.
void begin_ordered_kernel(int device);
/// Everything ordered before the next kernel of the current stream takes effect in device memory.
/// Throws if the device is broken. Costs one load while no copy is under way.
inline void begin_kernel(int device) {
  if (C10_LIKELY(g_machine.pending->load(std::memory_order_relaxed) == 0)) return;
  begin_ordered_kernel(device);
}
/// The host waits for the device's current stream: what PyTorch's CUDA kernels do when they need a
/// value.
void wait_for_current_stream(int device, const char* what);
void wait_for_stream(int device, std::int64_t id);
void wait_for_device(int device);

/// Initialise the driver in this process, at its first use: as with CUDA, a process that forks
/// before has children that can use the device.
void ensure_initialized();

// Driver calls that need the device's context, which they make current for the thread.
device::Error allocate_on(int device, device::DevicePointer* address, std::size_t size_bytes);
void free_on(int device, device::DevicePointer address);
device::EventHandle record_event_on(int device, std::int64_t stream);
bool is_event_done(int device, device::EventHandle event, bool wait);
void destroy_event(device::EventHandle event) noexcept;
/// Make the device's context current for this thread.
void enter_device(int device);

/// Tell PyTorch how to switch devices and streams.
void install_device_guard();

}  // namespace ashore::emulator
