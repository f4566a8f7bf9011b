// The allocators that PyTorch is given: device memory, pinned memory, and host memory that comes
// from the device while a CPU kernel stands for a CUDA kernel.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

#include "state.hpp"

namespace ashore::emulator {

c10::Allocator* device_allocator();
c10::Allocator* pinned_allocator();
bool is_pinned(const void* address);
/// Keep a pinned buffer from being reused before what the stream does now is done.
void pinned_record_event(const void* address, void* context, const c10::Stream& stream);

/// New device memory for the device's current stream, as a storage holds it. Throws
/// c10::OutOfMemoryError.
c10::DataPtr allocate_device(std::size_t size_bytes, int device);
/// Frees a block of device memory by its device or host address, and host memory of PyTorch's
/// allocator.
void free_any(void* address);
/// The DataPtr of bytes that a kernel allocated in device memory: ownership goes from `host`'s to
/// it.
c10::DataPtr adopt(void* host, int device);

void record_stream(const c10::DataPtr& data, const c10::Stream& stream);

void install_allocators();

}  // namespace ashore::emulator
