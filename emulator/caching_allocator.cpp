// See caching_allocator.hpp. The rules and the words are those of c10/cuda/CUDACachingAllocator.cpp
// of PyTorch 2.13; the blocks' bookkeeping is our own.
#include "caching_allocator.hpp"

#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>

#include "streams.hpp"

namespace ashore::emulator {

namespace {

void raise(Stat& stat, std::int64_t amount) {
  stat.current += amount;
  stat.peak = std::max(stat.peak, stat.current);
  stat.allocated += amount;
}
void lower(Stat& stat, std::int64_t amount) {
  stat.current -= amount;
  stat.freed += amount;
}
void raise(PoolStats& stats, bool small, std::int64_t amount) {
  raise(stats.all, amount);
  raise(small ? stats.small_pool : stats.large_pool, amount);
}
void lower(PoolStats& stats, bool small, std::int64_t amount) {
  lower(stats.all, amount);
  lower(small ? stats.small_pool : stats.large_pool, amount);
}
std::int64_t signed_bytes(std::size_t bytes) { return static_cast<std::int64_t>(bytes); }

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::size_t segment_bytes_for(std::size_t size_bytes) {
  if (size_bytes <= kSmallBytes) return kSmallSegmentBytes;
  if (size_bytes < kMinLargeBytes) return kLargeSegmentBytes;
  return round_up(size_bytes, kRoundLargeBytes);
}

std::string format_size(std::size_t bytes) {
  constexpr double kKiB = 1024;
  const auto number = static_cast<double>(bytes);
  char text[32];
  if (bytes <= 1024) {
    std::snprintf(text, sizeof text, "%zu bytes", bytes);
  } else if (number <= kKiB * kKiB) {
    std::snprintf(text, sizeof text, "%.2f KiB", number / kKiB);
  } else if (number <= kKiB * kKiB * kKiB) {
    std::snprintf(text, sizeof text, "%.2f MiB", number / kKiB / kKiB);
  } else {
    std::snprintf(text, sizeof text, "%.2f GiB", number / kKiB / kKiB / kKiB);
  }
  return text;
}

template <typename Visit>
void for_each_stat(MemoryStats& stats, Visit visit) {
  for (PoolStats* pool : {&stats.allocation, &stats.segment, &stats.active, &stats.inactive_split,
                          &stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes,
                          &stats.inactive_split_bytes, &stats.requested_bytes}) {
    for (Stat* stat : {&pool->all, &pool->small_pool, &pool->large_pool}) visit(*stat);
  }
}

}  // namespace

CachingAllocator& caching_allocator(int device) {
  static auto* all = new CachingAllocator[device::kMaxSimulatedDevices];  // outlives every tensor
  return all[device];
}

void CachingAllocator::open(int device) {
  device_ = device;
  base_ = g_machine.device_base + static_cast<std::size_t>(device) * g_machine.span_bytes;
  const std::size_t bytes = g_machine.span_bytes / kMinBlockBytes * sizeof(Block*);
  void* table = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TORCH_CHECK(table != MAP_FAILED, "not enough address space for the emulated device");
  table_ = static_cast<Block**>(table);
}

StreamPools& CachingAllocator::pools_of(std::int64_t stream) {
  for (const auto& pools : pools_) {
    if (pools->stream() == stream) return *pools;
  }
  return *pools_.emplace_back(std::make_unique<StreamPools>(stream));
}

Block* CachingAllocator::new_block() {
  if (spare_.empty()) return new Block;
  Block* block = spare_.back();
  spare_.pop_back();
  *block = Block{};
  return block;
}

Block* CachingAllocator::new_segment(std::size_t size_bytes, StreamPools& pools, bool small) {
  std::size_t device_bytes = 0;
  enter_device(device_);
  check(g_machine.driver->device_total_mem(&device_bytes, device_));
  if (static_cast<double>(reserved_bytes_ + size_bytes) >
      fraction_ * static_cast<double>(device_bytes)) {
    return nullptr;
  }
  device::DevicePointer address = 0;
  const device::Error error = allocate_on(device_, &address, size_bytes);
  if (error == device::Error::kOutOfMemory) return nullptr;
  check(error);
  Block* block = new_block();
  block->address = address;
  block->size_bytes = size_bytes;
  block->home = &pools;
  block->is_small = small;
  slot(block->address) = block;
  reserved_bytes_ += size_bytes;
  stats_.num_device_alloc++;
  raise(stats_.segment, small, 1);
  raise(stats_.reserved_bytes, small, signed_bytes(size_bytes));
  return block;
}

std::uintptr_t CachingAllocator::allocate(std::size_t size_bytes, std::int64_t stream) {
  TORCH_CHECK_WITH(OutOfMemoryError, size_bytes < (std::size_t{1} << 60),
                   "CUDA out of memory. Tried to allocate more than 1EB memory.");
  const std::size_t rounded = std::max(round_up(size_bytes, kMinBlockBytes), kMinBlockBytes);
  const bool small = rounded <= kSmallBytes;
  const std::lock_guard lock(mutex_);
  if (C10_UNLIKELY(!deferred_.empty())) process_events(false);
  StreamPools& pools = pools_of(stream);
  Block* block = pools.take(rounded, small);
  if (C10_UNLIKELY(block == nullptr)) {
    const std::size_t segment_bytes = segment_bytes_for(rounded);
    block = new_segment(segment_bytes, pools, small);
    if (block == nullptr) {
      // As PyTorch: wait for what other streams still use, give everything back, and try once more.
      process_events(true);
      static_cast<void>(free_segments());
      stats_.num_alloc_retries++;
      block = new_segment(segment_bytes, pools, small);
      if (block == nullptr) throw_out_of_memory(segment_bytes);
    }
  } else if (block->is_split()) {
    lower(stats_.inactive_split, small, 1);
    lower(stats_.inactive_split_bytes, small, signed_bytes(block->size_bytes));
  }
  const std::size_t rest = block->size_bytes - rounded;
  if (small ? rest >= kMinBlockBytes : rest > kSmallBytes) split(block, rounded);
  block->is_allocated = true;
  block->requested_bytes = size_bytes;
  raise(stats_.allocation, small, 1);
  raise(stats_.active, small, 1);
  raise(stats_.allocated_bytes, small, signed_bytes(block->size_bytes));
  raise(stats_.active_bytes, small, signed_bytes(block->size_bytes));
  raise(stats_.requested_bytes, small, signed_bytes(size_bytes));
  return block->address;
}

// Cut the front of a block off; the rest is free.
void CachingAllocator::split(Block* block, std::size_t size_bytes) {
  Block* rest = new_block();
  rest->address = block->address + size_bytes;
  rest->size_bytes = block->size_bytes - size_bytes;
  rest->home = block->home;
  rest->is_small = block->is_small;
  rest->before = block;
  rest->after = block->after;
  if (rest->after != nullptr) rest->after->before = rest;
  block->after = rest;
  block->size_bytes = size_bytes;
  slot(rest->address) = rest;
  block->home->insert(rest);
  raise(stats_.inactive_split, rest->is_small, 1);
  raise(stats_.inactive_split_bytes, rest->is_small, signed_bytes(rest->size_bytes));
}

void CachingAllocator::free(std::uintptr_t address) {
  const std::lock_guard lock(mutex_);
  Block* block = slot(address);
  TORCH_INTERNAL_ASSERT_DEBUG_ONLY(block != nullptr && block->is_allocated);
  block->is_allocated = false;
  lower(stats_.allocation, block->is_small, 1);
  lower(stats_.allocated_bytes, block->is_small, signed_bytes(block->size_bytes));
  if (C10_LIKELY(block->used_by.empty())) {
    release(block);
    return;
  }
  if (is_broken()) return;  // no event can tell when it is free
  for (const std::int64_t stream : std::exchange(block->used_by, {})) {
    deferred_.push_back({record_event_on(device_, stream), block});
    block->pending_events++;
  }
}

// Put a block that nobody uses into its pool, joined with free neighbours.
void CachingAllocator::release(Block* block) {
  const bool small = block->is_small;
  lower(stats_.active, small, 1);
  lower(stats_.active_bytes, small, signed_bytes(block->size_bytes));
  lower(stats_.requested_bytes, small, signed_bytes(block->requested_bytes));
  const auto is_free = [](const Block* other) {
    return other != nullptr && !other->is_allocated && other->pending_events == 0;
  };
  if (is_free(block->before)) {
    Block* before = block->before;
    before->home->remove(before);
    lower(stats_.inactive_split, small, 1);
    lower(stats_.inactive_split_bytes, small, signed_bytes(before->size_bytes));
    merge(before, block);
    block = before;
  }
  if (is_free(block->after)) {
    Block* after = block->after;
    after->home->remove(after);
    lower(stats_.inactive_split, small, 1);
    lower(stats_.inactive_split_bytes, small, signed_bytes(after->size_bytes));
    merge(block, after);
  }
  block->home->insert(block);
  if (block->is_split()) {
    raise(stats_.inactive_split, small, 1);
    raise(stats_.inactive_split_bytes, small, signed_bytes(block->size_bytes));
  }
}

void CachingAllocator::merge(Block* into, Block* other) {
  into->size_bytes += other->size_bytes;
  into->after = other->after;
  if (into->after != nullptr) into->after->before = into;
  slot(other->address) = nullptr;
  spare_.push_back(other);
}

bool CachingAllocator::free_segments() {
  bool any = false;
  for (const auto& pools : pools_) {
    for (Block* block : pools->take_segments()) {
      any = true;
      free_on(device_, block->address);
      slot(block->address) = nullptr;
      reserved_bytes_ -= block->size_bytes;
      stats_.num_device_free++;
      lower(stats_.segment, block->is_small, 1);
      lower(stats_.reserved_bytes, block->is_small, signed_bytes(block->size_bytes));
      spare_.push_back(block);
    }
  }
  return any;
}

void CachingAllocator::process_events(bool wait) {
  while (!deferred_.empty()) {
    const auto [event, block] = deferred_.front();
    if (!is_event_done(device_, event, wait)) return;
    deferred_.pop_front();
    destroy_event(event);
    if (--block->pending_events == 0) release(block);
  }
}

void CachingAllocator::throw_out_of_memory(std::size_t segment_bytes) {
  stats_.num_ooms++;
  std::size_t device_bytes = 0;
  check(g_machine.driver->device_total_mem(&device_bytes, device_));
  const std::size_t used = std::min(reserved_bytes_, device_bytes);
  const auto allocated = static_cast<std::size_t>(stats_.allocated_bytes.all.current);
  const std::string allowed =
      fraction_ < 1.0
          ? format_size(static_cast<std::size_t>(fraction_ * static_cast<double>(device_bytes))) +
                " allowed; "
          : "";
  TORCH_CHECK_WITH(
      OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", format_size(segment_bytes),
      ". GPU ", device_, " has a total capacity of ", format_size(device_bytes), " of which ",
      format_size(device_bytes - used), " is free. Including non-PyTorch memory, this process has ",
      format_size(used), " memory in use. ", allowed, "Of the allocated memory ",
      format_size(allocated), " is allocated by PyTorch, and ",
      format_size(reserved_bytes_ - std::min(reserved_bytes_, allocated)),
      " is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try "
      "setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
      "documentation for Memory Management  (https://docs.pytorch.org/docs/stable/notes/"
      "cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)");
}

void CachingAllocator::record_stream(std::uintptr_t address, std::int64_t stream) {
  const std::lock_guard lock(mutex_);
  Block* block = slot(address);
  if (block == nullptr || block->home->stream() == stream) return;
  auto& used_by = block->used_by;
  if (std::find(used_by.begin(), used_by.end(), stream) == used_by.end()) used_by.push_back(stream);
}

void CachingAllocator::empty_cache() {
  const std::lock_guard lock(mutex_);
  process_events(true);
  free_segments();
}

MemoryStats CachingAllocator::stats() {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_accumulated() {
  const std::lock_guard lock(mutex_);
  for_each_stat(stats_, [](Stat& stat) { stat.allocated = stat.freed = 0; });
  stats_.num_alloc_retries = stats_.num_ooms = 0;
  stats_.num_sync_all_streams = stats_.num_device_alloc = stats_.num_device_free = 0;
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  for_each_stat(stats_, [](Stat& stat) { stat.peak = stat.current; });
}

double CachingAllocator::fraction() {
  const std::lock_guard lock(mutex_);
  return fraction_;
}

void CachingAllocator::set_fraction(double fraction) {
  const std::lock_guard lock(mutex_);
  fraction_ = fraction;
}

std::pair<std::uintptr_t, std::size_t> CachingAllocator::find(std::uintptr_t address) {
  const std::lock_guard lock(mutex_);
  for (std::uintptr_t start = address / kMinBlockBytes * kMinBlockBytes; start >= base_;
       start -= kMinBlockBytes) {
    if (const Block* block = slot(start)) {
      if (address - start >= block->size_bytes) break;
      return {start, block->size_bytes};
    }
  }
  return {0, 0};
}

}  // namespace ashore::emulator
