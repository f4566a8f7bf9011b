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

struct AttributeRow {
  DeviceAttribute attribute;
  int value;
};

// Of a large GPU of compute capability 9.0. The bus differs by device.
constexpr AttributeRow kAttributes[] = {
    {DeviceAttribute::kMaxThreadsPerBlock, 1024},
    {DeviceAttribute::kMaxSharedMemoryPerBlock, 48 << 10},
    {DeviceAttribute::kWarpSize, 32},
    {DeviceAttribute::kClockRate, 1980000},
    {DeviceAttribute::kMultiprocessorCount, 132},
    {DeviceAttribute::kIntegrated, 0},
    {DeviceAttribute::kCanMapHostMemory, 1},
    {DeviceAttribute::kComputeMode, 0},
    {DeviceAttribute::kConcurrentKernels, 1},
    {DeviceAttribute::kEccEnabled, 1},
    {DeviceAttribute::kPciDeviceId, 0},
    {DeviceAttribute::kTccDriver, 0},
    {DeviceAttribute::kMemoryClockRate, 2619000},
    {DeviceAttribute::kGlobalMemoryBusWidth, 5120},
    {DeviceAttribute::kL2CacheSize, 50 << 20},
    {DeviceAttribute::kMaxThreadsPerMultiprocessor, 2048},
    {DeviceAttribute::kAsyncEngineCount, 3},
    {DeviceAttribute::kUnifiedAddressing, 1},
    {DeviceAttribute::kPciDomainId, 0},
    {DeviceAttribute::kComputeCapabilityMajor, 9},
    {DeviceAttribute::kComputeCapabilityMinor, 0},
    {DeviceAttribute::kStreamPrioritiesSupported, 1},
    {DeviceAttribute::kMaxSharedMemoryPerMultiprocessor, 228 << 10},
    {DeviceAttribute::kMaxRegistersPerMultiprocessor, 65536},
    {DeviceAttribute::kManagedMemory, 0},
    {DeviceAttribute::kIsMultiGpuBoard, 0},
    {DeviceAttribute::kPageableMemoryAccess, 0},
    {DeviceAttribute::kConcurrentManagedAccess, 0},
    {DeviceAttribute::kCanUseHostPointerForRegisteredMemory, 1},
    {DeviceAttribute::kPageableMemoryAccessUsesHostPageTables, 0},
};

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
  if (attribute == DeviceAttribute::kPciBusId) {
    *value = device + 1;
    return Error::kSuccess;
  }
  for (const AttributeRow& row : kAttributes) {
    if (row.attribute != attribute) continue;
    *value = row.value;
    return Error::kSuccess;
  }
  return Error::kInvalidValue;
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
