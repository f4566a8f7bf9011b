// Device memory as PyTorch's CUDA caching allocator hands it out: the same rounding, segments,
// statistics and words when there is none left. Called by allocators.cpp, which gives it to
// PyTorch.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "block_pool.hpp"
#include "state.hpp"

namespace ashore::emulator {

/// The memory of one device. All functions may be called from any thread.
class CachingAllocator {
 public:
  void open(int device);

  /// Return the device address of a new block of the stream. Throws c10::OutOfMemoryError.
  std::uintptr_t allocate(std::size_t size_bytes, std::int64_t stream);
  void free(std::uintptr_t address);
  /// Say that work on another stream uses the block: it is not handed out again before that is
  /// done.
  void record_stream(std::uintptr_t address, std::int64_t stream);

  /// Give whole free segments back to the driver.
  void empty_cache();
  MemoryStats stats();
  void reset_accumulated();
  void reset_peak();
  double fraction();
  void set_fraction(double fraction);
  /// Device address and size of the block that holds the address; {0, 0}: none.
  std::pair<std::uintptr_t, std::size_t> find(std::uintptr_t address);

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  struct Deferred {
    device::EventHandle event;
    Block* block;
  };

  StreamPools& pools_of(std::int64_t stream);
  Block*& slot(std::uintptr_t address) { return table_[(address - base_) / kMinBlockBytes]; }
  Block* new_block();
  Block* new_segment(std::size_t size_bytes, StreamPools& pools, bool small);
  void split(Block* block, std::size_t size_bytes);
  void release(Block* block);
  void merge(Block* into, Block* other);
  bool free_segments();
  void process_events(bool wait);
  [[noreturn]] void throw_out_of_memory(std::size_t segment_bytes);

  std::mutex mutex_;
  int device_ = 0;
  std::uintptr_t base_ = 0;
  Block** table_ = nullptr;  ///< by address / kMinBlockBytes: the block that starts there
  std::vector<std::unique_ptr<StreamPools>> pools_;
  std::vector<Block*> spare_;
  std::deque<Deferred> deferred_;
  std::size_t reserved_bytes_ = 0;
  double fraction_ = 1.0;
  MemoryStats stats_;
};

/// The allocator of one device.
CachingAllocator& caching_allocator(int device);

}  // namespace ashore::emulator
