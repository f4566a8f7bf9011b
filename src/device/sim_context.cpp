// The simulator's driver functions about the driver, devices and contexts.
#include <algorithm>
#include <cstring>

#include "device/sim_calls.hpp"
#include "device/sim_machine.hpp"

namespace ashore::device::sim::calls {
namespace {

bool is_device(Device device) ASHORE_REQUIRES(machine.mutex) {
  return device >= 0 && device < machine.options.device_count;
}

}  // namespace

Error init(unsigned flags) {
  if (flags != 0) return Error::kInvalidValue;
  if (!machine.is_configured.load(std::memory_order_acquire) &&
      configure(SimulatorOptions{}) != nullptr) {
    return Error::kOperatingSystem;
  }
  const Session session;
  if (machine.options.device_count == 0) return Error::kNoDevice;
  machine.is_initialized.store(true, std::memory_order_release);
  return Error::kSuccess;
}

Error driver_get_version(int* version) {
  if (version == nullptr) return Error::kInvalidValue;
  const Session session;
  *version = machine.options.driver_version;
  return Error::kSuccess;
}

Error device_get_count(int* count) {
  if (count == nullptr) return Error::kInvalidValue;
  const Session session;
  *count = machine.options.device_count;
  return Error::kSuccess;
}

Error device_get(Device* device, int ordinal) {
  if (device == nullptr) return Error::kInvalidValue;
  const Session session;
  if (!is_device(ordinal)) return Error::kInvalidDevice;
  *device = ordinal;
  return Error::kSuccess;
}

Error device_get_name(char* name, int size_bytes, Device device) {
  if (name == nullptr || size_bytes <= 0) return Error::kInvalidValue;
  const Session session;
  if (!is_device(device)) return Error::kInvalidDevice;
  const std::size_t length =
      std::min(std::strlen(machine.options.name), static_cast<std::size_t>(size_bytes) - 1);
  std::memcpy(name, machine.options.name, length);
  name[length] = '\0';
  return Error::kSuccess;
}

Error device_total_mem(std::size_t* size_bytes, Device device) {
  if (size_bytes == nullptr) return Error::kInvalidValue;
  const Session session;
  if (!is_device(device)) return Error::kInvalidDevice;
  *size_bytes = machine.memory.capacity_bytes(device);
  return Error::kSuccess;
}

Error device_get_attribute(int* value, DeviceAttribute attribute, Device device) {
  if (value == nullptr) return Error::kInvalidValue;
  const Session session;
  if (!is_device(device)) return Error::kInvalidDevice;
  switch (attribute) {  // of a large GPU of compute capability 9.0
    case DeviceAttribute::kMaxThreadsPerBlock:
      *value = 1024;
      break;
    case DeviceAttribute::kMaxSharedMemoryPerBlock:
      *value = 48 << 10;
      break;
    case DeviceAttribute::kWarpSize:
      *value = 32;
      break;
    case DeviceAttribute::kClockRate:
      *value = 1980000;
      break;
    case DeviceAttribute::kMultiprocessorCount:
      *value = 132;
      break;
    case DeviceAttribute::kIntegrated:
      *value = 0;
      break;
    case DeviceAttribute::kCanMapHostMemory:
      *value = 1;
      break;
    case DeviceAttribute::kComputeMode:
      *value = 0;
      break;
    case DeviceAttribute::kConcurrentKernels:
      *value = 1;
      break;
    case DeviceAttribute::kEccEnabled:
      *value = 1;
      break;
    case DeviceAttribute::kPciBusId:
      *value = device + 1;
      break;
    case DeviceAttribute::kPciDeviceId:
      *value = 0;
      break;
    case DeviceAttribute::kTccDriver:
      *value = 0;
      break;
    case DeviceAttribute::kMemoryClockRate:
      *value = 2619000;
      break;
    case DeviceAttribute::kGlobalMemoryBusWidth:
      *value = 5120;
      break;
    case DeviceAttribute::kL2CacheSize:
      *value = 50 << 20;
      break;
    case DeviceAttribute::kMaxThreadsPerMultiprocessor:
      *value = 2048;
      break;
    case DeviceAttribute::kAsyncEngineCount:
      *value = 3;
      break;
    case DeviceAttribute::kUnifiedAddressing:
      *value = 1;
      break;
    case DeviceAttribute::kPciDomainId:
      *value = 0;
      break;
    case DeviceAttribute::kComputeCapabilityMajor:
      *value = 9;
      break;
    case DeviceAttribute::kComputeCapabilityMinor:
      *value = 0;
      break;
    case DeviceAttribute::kStreamPrioritiesSupported:
      *value = 1;
      break;
    case DeviceAttribute::kMaxSharedMemoryPerMultiprocessor:
      *value = 228 << 10;
      break;
    case DeviceAttribute::kMaxRegistersPerMultiprocessor:
      *value = 65536;
      break;
    case DeviceAttribute::kManagedMemory:
      *value = 0;
      break;
    case DeviceAttribute::kIsMultiGpuBoard:
      *value = 0;
      break;
    case DeviceAttribute::kPageableMemoryAccess:
      *value = 0;
      break;
    case DeviceAttribute::kConcurrentManagedAccess:
      *value = 0;
      break;
    case DeviceAttribute::kCanUseHostPointerForRegisteredMemory:
      *value = 1;
      break;
    case DeviceAttribute::kPageableMemoryAccessUsesHostPageTables:
      *value = 0;
      break;
    default:
      return Error::kInvalidValue;
  }
  return Error::kSuccess;
}

Error device_primary_ctx_retain(ContextHandle* context, Device device) {
  if (context == nullptr) return Error::kInvalidValue;
  const Session session;
  if (!is_device(device)) return Error::kInvalidDevice;
  ++machine.context_references[device];
  *context = context_handle(device);
  return Error::kSuccess;
}

Error device_primary_ctx_release(Device device) {
  const Session session;
  if (!is_device(device)) return Error::kInvalidDevice;
  if (machine.context_references[device] == 0) return Error::kInvalidContext;
  if (--machine.context_references[device] > 0) return Error::kSuccess;
  machine.timeline.forget_device(device);
  std::erase_if(machine.events, [&](const auto& entry) { return entry.second.device == device; });
  machine.memory.free_all(device);
  machine.statistics.allocated_bytes[device] = 0;
  return Error::kSuccess;
}

Error ctx_set_current(ContextHandle context) {
  const Session session;
  if (context != nullptr) {
    const Device device = device_of_context(context);
    if (device < 0 || !is_device(device)) return Error::kInvalidContext;
    if (machine.context_references[device] == 0) return Error::kInvalidContext;
  }
  exchange_context(context);
  return Error::kSuccess;
}

Error ctx_get_current(ContextHandle* context) {
  if (context == nullptr) return Error::kInvalidValue;
  *context = thread_context();
  return Error::kSuccess;
}

Error ctx_synchronize() {
  Session session;
  Device device = 0;
  if (const Error error = session.current_device(device); error != Error::kSuccess) return error;
  ++machine.statistics.synchronizations;
  machine.timeline.finish_device(device);
  return Error::kSuccess;
}

}  // namespace ashore::device::sim::calls
