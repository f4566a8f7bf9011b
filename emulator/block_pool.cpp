// Finding the best free block: a bitmap over bins for small ones, a tree for large ones.
#include "block_pool.hpp"

#include <bit>

namespace ashore::emulator {

namespace {

// The bin of blocks of that size, or of the smallest that hold so many bytes.
std::size_t bin_of(std::size_t size_bytes) { return size_bytes / kMinBlockBytes - 1; }

}  // namespace

void StreamPools::insert(Block* block) {
  if (!block->is_small) {
    large_.insert(block);
    return;
  }
  const std::size_t bin = bin_of(block->size_bytes);
  block->place = static_cast<std::uint32_t>(bins_[bin].size());
  bins_[bin].push_back(block);
  filled_[bin / 64] |= std::uint64_t{1} << (bin % 64);
  filled_words_ |= std::uint64_t{1} << (bin / 64);
}

void StreamPools::remove(Block* block) {
  if (!block->is_small) {
    large_.erase(block);
    return;
  }
  const std::size_t bin = bin_of(block->size_bytes);
  std::vector<Block*>& blocks = bins_[bin];
  blocks.back()->place = block->place;
  blocks[block->place] = blocks.back();
  blocks.pop_back();
  if (!blocks.empty()) return;
  filled_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
  if (filled_[bin / 64] == 0) filled_words_ &= ~(std::uint64_t{1} << (bin / 64));
}

Block* StreamPools::take(std::size_t size_bytes, bool small) {
  if (!small) {
    Block key;
    key.size_bytes = size_bytes;
    const auto found = large_.lower_bound(&key);
    if (found == large_.end()) return nullptr;
    Block* block = *found;
    large_.erase(found);
    return block;
  }
  const std::size_t first = bin_of(size_bytes);
  std::size_t index = first / 64;
  std::uint64_t word = filled_[index] & (~std::uint64_t{0} << (first % 64));
  if (word == 0) {
    // Shifted twice: by 64 at once is undefined.
    const std::uint64_t later = filled_words_ & (~std::uint64_t{0} << index << 1);
    if (later == 0) return nullptr;
    index = static_cast<std::size_t>(std::countr_zero(later));
    word = filled_[index];
  }
  Block* block = bins_[index * 64 + static_cast<std::size_t>(std::countr_zero(word))].back();
  remove(block);
  return block;
}

std::vector<Block*> StreamPools::take_segments() {
  std::vector<Block*> whole;
  for (Block* block : list()) {
    if (block->is_split()) continue;
    remove(block);
    whole.push_back(block);
  }
  return whole;
}

std::vector<Block*> StreamPools::list() const {
  std::vector<Block*> blocks(large_.begin(), large_.end());
  for (const std::vector<Block*>& bin : bins_) blocks.insert(blocks.end(), bin.begin(), bin.end());
  return blocks;
}

}  // namespace ashore::emulator
