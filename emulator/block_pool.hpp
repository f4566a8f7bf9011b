// The free blocks of one stream in the caching allocator. Called by caching_allocator.cpp, under
// its lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace ashore::emulator {

// Sizes of PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp), which decide what a
// program reads from memory_reserved().
inline constexpr std::size_t kMinBlockBytes = 512;
inline constexpr std::size_t kSmallBytes = std::size_t{1} << 20;  ///< the largest "small" one
inline constexpr std::size_t kSmallSegmentBytes = std::size_t{2} << 20;   ///< small ones share such
inline constexpr std::size_t kLargeSegmentBytes = std::size_t{20} << 20;  ///< as do medium ones
inline constexpr std::size_t kMinLargeBytes = std::size_t{10}
                                              << 20;  ///< from here each has its own
inline constexpr std::size_t kRoundLargeBytes = std::size_t{2} << 20;

class StreamPools;

/// A part of a segment, which is one allocation of the driver's.
struct Block {
  std::uintptr_t address = 0;
  std::size_t size_bytes = 0;
  std::size_t requested_bytes = 0;
  Block* before = nullptr;  ///< neighbours in the segment
  Block* after = nullptr;
  StreamPools* home = nullptr;
  bool is_small = false;
  bool is_allocated = false;
  int pending_events = 0;             ///< of other streams that still use it, after it was freed
  std::vector<std::int64_t> used_by;  ///< streams that record_stream named
  std::uint32_t place = 0;            ///< in its bin, while it is free and small

  bool is_split() const { return before != nullptr || after != nullptr; }
};

/// Free blocks of one stream: small ones in bins by size, the rest in one ordered set.
class StreamPools {
 public:
  explicit StreamPools(std::int64_t stream) : stream_(stream) {}

  std::int64_t stream() const { return stream_; }
  void insert(Block* block);
  void remove(Block* block);
  /// Take the smallest block that holds so many bytes. Null: none.
  Block* take(std::size_t size_bytes, bool small);
  /// Take all blocks that are whole segments.
  std::vector<Block*> take_segments();
  /// List all free blocks.
  std::vector<Block*> list() const;

 private:
  static constexpr std::size_t kBins = kSmallSegmentBytes / kMinBlockBytes;
  static constexpr std::size_t kWords = kBins / 64;
  static_assert(kWords == 64, "one word says which of the others are not zero");
  struct Smaller {
    bool operator()(const Block* a, const Block* b) const {
      return a->size_bytes != b->size_bytes ? a->size_bytes < b->size_bytes
                                            : a->address < b->address;
    }
  };

  std::int64_t stream_;
  std::array<std::vector<Block*>, kBins> bins_;
  std::array<std::uint64_t, kWords> filled_{};  ///< one bit per bin that has a block
  std::uint64_t filled_words_ = 0;              ///< one bit per word of `filled_`
  std::set<Block*, Smaller> large_;
};

}  // namespace ashore::emulator
