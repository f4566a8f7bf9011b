// See allocators.hpp.
#include "allocators.hpp"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <pthread.h>

#include <cstring>

#include "caching_allocator.hpp"
#include "streams.hpp"

namespace ashore::emulator {

namespace {

c10::Allocator* g_host_allocator = nullptr;  // PyTorch's own

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// PyTorch groups counts by pool in an array; ours have names.
c10::CachingAllocator::StatArray stat_array(const PoolStats& stats) {
  c10::CachingAllocator::StatArray array;
  const Stat* ours[] = {&stats.all, &stats.small_pool, &stats.large_pool};
  for (std::size_t i = 0; i < array.size(); ++i) {
    array[i].current = ours[i]->current;
    array[i].peak = ours[i]->peak;
    array[i].allocated = ours[i]->allocated;
    array[i].freed = ours[i]->freed;
  }
  return array;
}

class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t size_bytes) override {
    return allocate_device(size_bytes, tl_device);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_any; }
  void copy_data(void* to, const void* from, std::size_t size_bytes) const override {
    std::memcpy(host_address(to), host_address(from), size_bytes);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t /*pool*/) override { empty_cache(); }
  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    record_stream(data, stream);
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    const MemoryStats ours = memory_stats(device);
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocation = stat_array(ours.allocation);
    stats.segment = stat_array(ours.segment);
    stats.active = stat_array(ours.active);
    stats.inactive_split = stat_array(ours.inactive_split);
    stats.allocated_bytes = stat_array(ours.allocated_bytes);
    stats.reserved_bytes = stat_array(ours.reserved_bytes);
    stats.active_bytes = stat_array(ours.active_bytes);
    stats.inactive_split_bytes = stat_array(ours.inactive_split_bytes);
    stats.requested_bytes = stat_array(ours.requested_bytes);
    stats.num_alloc_retries = ours.num_alloc_retries;
    stats.num_ooms = ours.num_ooms;
    stats.num_sync_all_streams = ours.num_sync_all_streams;
    stats.num_device_alloc = ours.num_device_alloc;
    stats.num_device_free = ours.num_device_free;
    stats.max_split_size = -1;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override { reset_accumulated_stats(device); }
  void resetPeakStats(c10::DeviceIndex device) override { reset_peak_stats(device); }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex device) override {
    return memory_info(device);
  }
};

// PyTorch's allocator for host memory, but inside a KernelScope the memory is the device's.
class HostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size_bytes) override {
    if (C10_LIKELY(tl_kernel_device < 0) || size_bytes == 0) {
      c10::DataPtr data = g_host_allocator->allocate(size_bytes);
      // One deleter for all that comes from here, as raw_deleter() promises.
      static_cast<void>(data.compare_exchange_deleter(g_host_allocator->raw_deleter(), &free_any));
      return data;
    }
    void* host = host_address(
        reinterpret_cast<void*>(caching_allocator(tl_kernel_device)
                                    .allocate(size_bytes, current_stream_id(tl_kernel_device))));
    return {host, host, &free_any, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_any; }
  void copy_data(void* to, const void* from, std::size_t size_bytes) const override {
    std::memcpy(to, from, size_bytes);
  }
};

// Pinned memory, by PyTorch's own caching template: a freed buffer is not reused before the copies
// that record_event named are done.
class PinnedCache final : public at::CachingHostAllocatorImpl<c10::Stream, c10::Event> {
  void allocate_host_memory(std::size_t size_bytes, void** address) override {
    check_fork();
    enter_device(tl_device);
    constexpr unsigned kPortable = 1;
    check(g_machine.driver->mem_host_alloc(address, size_bytes, kPortable));
  }
  void free_block(at::HostBlock<c10::Stream>* block) override {
    enter_device(tl_device);
    check(g_machine.driver->mem_free_host(block->ptr_));
  }
  void record_stream(std::optional<std::vector<c10::Event>>& events, c10::Stream stream) override {
    if (is_broken()) return;  // destructors come here
    c10::Event event(c10::DeviceType::CUDA);
    event.record(stream);
    events->push_back(std::move(event));
  }
  bool query_event(c10::Event& event) override { return event.query(); }
  c10::Stream get_current_stream() const override {
    return c10::Stream(c10::Stream::UNSAFE, cuda_device(tl_device), current_stream_id(tl_device));
  }
  bool stream_is_capturing(c10::Stream /*stream*/) const override { return false; }
};

void free_pinned(void* context);
using PinnedAllocator = at::CachingHostAllocatorInterface<PinnedCache, &free_pinned>;
PinnedAllocator* pinned() {
  static auto* allocator = new PinnedAllocator;  // outlives every tensor
  return allocator;
}
void free_pinned(void* context) { pinned()->free(context); }

}  // namespace

c10::Allocator* device_allocator() {
  static auto* allocator = new DeviceAllocator;
  return allocator;
}

c10::Allocator* pinned_allocator() { return pinned(); }

bool is_pinned(const void* address) {
  unsigned type = 0;
  return g_machine.driver->pointer_get_attribute(
             &type, device::PointerAttribute::kMemoryType,
             reinterpret_cast<device::DevicePointer>(address)) == device::Error::kSuccess &&
         type == 1;  // CU_MEMORYTYPE_HOST
}

void pinned_record_event(const void* address, void* context, const c10::Stream& stream) {
  if (is_pinned(address)) pinned()->record_event(const_cast<void*>(address), context, stream);
}

c10::DataPtr allocate_device(std::size_t size_bytes, int device) {
  check_fork();
  if (size_bytes == 0) return {nullptr, cuda_device(device)};
  auto* address = reinterpret_cast<void*>(
      caching_allocator(device).allocate(size_bytes, current_stream_id(device)));
  return {address, address, &free_any, cuda_device(device)};
}

void free_any(void* address) {
  if (address == nullptr) return;
  void* on_device = is_device_bytes(address) ? device_address(address) : address;
  if (is_device_address(on_device)) {
    caching_allocator(device_of(on_device)).free(number(on_device));
  } else {
    g_host_allocator->raw_deallocate(address);
  }
}

c10::DataPtr adopt(void* host, int device) {
  void* address = device_address(host);
  return {address, address, &free_any, cuda_device(device)};
}

void record_stream(const c10::DataPtr& data, const c10::Stream& stream) {
  if (!is_device_address(data.get())) return;
  CachingAllocator& allocator = caching_allocator(device_of(data.get()));
  const auto [start, size_bytes] = allocator.find(number(data.get()));
  if (size_bytes != 0) allocator.record_stream(start, stream.id());
}

MemoryStats memory_stats(int device) {
  check_device(device);
  return caching_allocator(device).stats();
}
void reset_accumulated_stats(int device) {
  check_device(device);
  caching_allocator(device).reset_accumulated();
}
void reset_peak_stats(int device) {
  check_device(device);
  caching_allocator(device).reset_peak();
}
void empty_cache() {
  for (int device = 0; device < g_machine.device_count; ++device) {
    caching_allocator(device).empty_cache();
  }
}
std::pair<std::int64_t, std::int64_t> memory_info(int device) {
  check_device(device);
  check_fork();
  enter_device(device);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(g_machine.driver->mem_get_info(&free_bytes, &total_bytes));
  return {static_cast<std::int64_t>(free_bytes), static_cast<std::int64_t>(total_bytes)};
}
double memory_fraction(int device) {
  check_device(device);
  return caching_allocator(device).fraction();
}
void set_memory_fraction(int device, double fraction) {
  check_device(device);
  caching_allocator(device).set_fraction(fraction);
}
void* raw_alloc(std::int64_t size_bytes, int device, std::uint64_t native_stream) {
  check_fork();
  check_device(device);
  return reinterpret_cast<void*>(caching_allocator(device).allocate(
      static_cast<std::size_t>(size_bytes), stream_of_native(native_stream, device).id));
}
void raw_delete(void* address) { free_any(address); }

void install_allocators() {
  for (int device = 0; device < g_machine.device_count; ++device) {
    caching_allocator(device).open(device);
  }
  // A forked child inherits the locks as they are: let no thread hold one at that moment.
  ::pthread_atfork(
      [] {
        for (int i = 0; i < g_machine.device_count; ++i) caching_allocator(i).lock_for_fork();
      },
      [] {
        for (int i = 0; i < g_machine.device_count; ++i) caching_allocator(i).unlock_after_fork();
      },
      [] {
        for (int i = 0; i < g_machine.device_count; ++i) caching_allocator(i).unlock_after_fork();
      });
  constexpr std::uint8_t kHighest = 255;
  g_host_allocator = c10::GetCPUAllocator();
  static auto* host = new HostAllocator;
  c10::SetCPUAllocator(host, kHighest);
  c10::SetAllocator(c10::DeviceType::CUDA, device_allocator(), kHighest);
  at::setHostAllocator(c10::DeviceType::CUDA, pinned(), kHighest);
}

}  // namespace ashore::emulator
