// Finding the best free block: a bitmap over bins for small ones, a tree for large ones.
#include "block_pool.hpp"

#include <bit>

namespace ashore::emulator {

void StreamPools::insert(Block* block) {
  if (!block->is_small) {
    large_.insert(block);
    return;
  }
  const std::size_t bin = block->size_bytes / kMinBlockBytes;
  block->place = static_cast<std::uint32_t>(bins_[bin].size());
  bins_[bin].push_back(block);
  filled_[bin / 64] |= std::uint64_t{1} << (bin % 64);
}

void StreamPools::remove(Block* block) {
  if (!block->is_small) {
    large_.erase(block);
    return;
  }
  const std::size_t bin = block->size_bytes / kMinBlockBytes;
  std::vector<Block*>& blocks = bins_[bin];
  blocks.back()->place = block->place;
  blocks[block->place] = blocks.back();
  blocks.pop_back();
  if (blocks.empty()) filled_[bin / 64] &= ~(std::uint64_t{1} << (bin % 64));
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
  const std::size_t first = size_bytes / kMinBlockBytes;
  std::uint64_t word = filled_[first / 64] & (~std::uint64_t{0} << (first % 64));
  for (std::size_t index = first / 64;; word = filled_[index]) {
    if (word != 0) {
      Block* block = bins_[index * 64 + static_cast<std::size_t>(std::countr_zero(word))].back();
      remove(block);
      return block;
    }
    if (++index == filled_.size()) return nullptr;
  }
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
