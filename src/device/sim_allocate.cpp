// The simulator's driver functions about memory: on devices, pinned, and what a pointer is.
#include <algorithm>

#include "device/sim_calls.hpp"
#include "device/sim_machine.hpp"
#include "host/address_space.hpp"

namespace ashore::device::sim::calls {
namespace {

const std::byte* as_bytes(const void* pointer) { return static_cast<const std::byte*>(pointer); }

void count_pinned() ASHORE_REQUIRES(machine.mutex) {
  SimulatorStatistics& statistics = machine.statistics;
  statistics.pinned_bytes = static_cast<std::int64_t>(machine.pinned.bytes());
  statistics.peak_pinned_bytes = std::max(statistics.peak_pinned_bytes, statistics.pinned_bytes);
}

template <typename Value>
Error answer(void* out, Value value) {
  *static_cast<Value*>(out) = value;
  return Error::kSuccess;
}

// What is asked of a range, on a device or pinned.
Error describe(void* out, PointerAttribute attribute, MemoryType type, Device device,
               DevicePointer address, DevicePointer begin, std::size_t bytes) {
  switch (attribute) {
    case PointerAttribute::kContext:
      return answer(out, context_handle(device));
    case PointerAttribute::kMemoryType:
      return answer(out, type);
    case PointerAttribute::kDevicePointer:
      return answer(out, address);
    case PointerAttribute::kHostPointer:
      if (type != MemoryType::kHost) return Error::kInvalidValue;
      return answer(out, static_cast<void*>(host::pointer_to(address)));
    case PointerAttribute::kBufferId:
      return answer(out, static_cast<unsigned long long>(begin));
    case PointerAttribute::kIsManaged:
      return answer(out, 0U);
    case PointerAttribute::kDeviceOrdinal:
      return answer(out, device);
    case PointerAttribute::kRangeStartAddress:
      return answer(out, begin);
    case PointerAttribute::kRangeSize:
      return answer(out, bytes);
    case PointerAttribute::kMapped:
      return answer(out, 1U);
  }
  return Error::kInvalidValue;
}

}  // namespace

Error mem_alloc(DevicePointer* pointer, std::size_t size_bytes) {
  Session session;
  Device device = 0;
  if (const Error error = session.current_device(device); error != Error::kSuccess) return error;
  if (pointer == nullptr || size_bytes == 0) return Error::kInvalidValue;
  const Error error = machine.memory.allocate(device, size_bytes, *pointer);
  if (error != Error::kSuccess) return error;
  SimulatorStatistics& statistics = machine.statistics;
  ++statistics.allocations;
  const auto allocated = static_cast<std::int64_t>(machine.memory.allocated_bytes(device));
  statistics.allocated_bytes[device] = allocated;
  statistics.peak_allocated_bytes[device] =
      std::max(statistics.peak_allocated_bytes[device], allocated);
  return Error::kSuccess;
}

Error mem_free(DevicePointer pointer) {
  Session session;
  Device device = 0;
  if (const Error error = session.current_device(device); error != Error::kSuccess) return error;
  Block block;
  if (!machine.memory.find(pointer, block) || block.begin != pointer) return Error::kInvalidValue;
  // A device waits before it frees. Here what uses the block runs first, and nothing reaches the
  // host for it: whoever counts on the wait of a free would find poison.
  machine.timeline.advance_touching(machine.memory.bytes_of(block.begin), block.bytes);
  const Error error = machine.memory.free(pointer);
  machine.statistics.allocated_bytes[block.device] =
      static_cast<std::int64_t>(machine.memory.allocated_bytes(block.device));
  return error;
}

Error mem_get_info(std::size_t* free_bytes, std::size_t* total_bytes) {
  Session session;
  Device device = 0;
  if (const Error error = session.current_device(device); error != Error::kSuccess) return error;
  if (free_bytes == nullptr || total_bytes == nullptr) return Error::kInvalidValue;
  *total_bytes = machine.memory.capacity_bytes(device);
  *free_bytes = *total_bytes - std::min(*total_bytes, machine.memory.allocated_bytes(device));
  return Error::kSuccess;
}

Error mem_host_alloc(void** pointer, std::size_t size_bytes, unsigned flags) {
  Session session;
  Device device = 0;
  if (const Error error = session.current_device(device); error != Error::kSuccess) return error;
  constexpr unsigned kKnown = kHostAllocPortable | kHostAllocDeviceMap | kHostAllocWriteCombined;
  if (pointer == nullptr || size_bytes == 0 || (flags & ~kKnown) != 0) return Error::kInvalidValue;
  PinnedRange range;
  const Error error = machine.pinned.allocate(size_bytes, device, range);
  if (error != Error::kSuccess) return error;
  if (machine.options.guard_pinned) machine.guards.add_region(range.begin, range.mapped_bytes);
  *pointer = host::pointer_to(range.begin);
  count_pinned();
  return Error::kSuccess;
}

Error mem_free_host(void* pointer) {
  Session session;
  Device device = 0;
  if (const Error error = session.current_device(device); error != Error::kSuccess) return error;
  const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
  const PinnedRange* const range = machine.pinned.find(begin, 0);
  if (range == nullptr || range->begin != begin || range->mapped_bytes == 0) {
    return Error::kInvalidValue;
  }
  machine.timeline.finish_touching(as_bytes(pointer), range->bytes);
  machine.guards.remove_region(begin);
  const Error error = machine.pinned.free(begin);
  count_pinned();
  return error;
}

Error mem_host_register(void* pointer, std::size_t size_bytes, unsigned flags) {
  Session session;
  Device device = 0;
  if (const Error error = session.current_device(device); error != Error::kSuccess) return error;
  constexpr unsigned kKnown = kHostRegisterPortable | kHostRegisterDeviceMap |
                              kHostRegisterIoMemory | kHostRegisterReadOnly;
  if ((flags & ~kKnown) != 0) return Error::kInvalidValue;
  const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
  if (machine.memory.device_of(begin) >= 0) return Error::kInvalidValue;
  const Error error = machine.pinned.add(begin, size_bytes, device);
  count_pinned();
  return error;
}

Error mem_host_unregister(void* pointer) {
  Session session;
  Device device = 0;
  if (const Error error = session.current_device(device); error != Error::kSuccess) return error;
  if (pointer == nullptr) return Error::kInvalidValue;
  const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
  const PinnedRange* const range = machine.pinned.find(begin, 0);
  if (range == nullptr || range->begin != begin || range->mapped_bytes != 0) {
    return Error::kHostMemoryNotRegistered;
  }
  machine.timeline.finish_touching(as_bytes(pointer), range->bytes);
  const Error error = machine.pinned.remove(begin);
  count_pinned();
  return error;
}

Error pointer_get_attribute(void* value, PointerAttribute attribute, DevicePointer pointer) {
  if (value == nullptr) return Error::kInvalidValue;
  const Session session;
  Block block;
  if (machine.memory.find(pointer, block)) {
    return describe(value, attribute, MemoryType::kDevice, block.device, pointer, block.begin,
                    block.bytes);
  }
  if (const PinnedRange* const range = machine.pinned.find(pointer, 0)) {
    return describe(value, attribute, MemoryType::kHost, range->device, pointer, range->begin,
                    range->bytes);
  }
  return Error::kInvalidValue;
}

}  // namespace ashore::device::sim::calls
