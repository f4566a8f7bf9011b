// The map of pinned host memory.
#include "device/sim_pinned.hpp"

#include <iterator>
#include <limits>

#include "host/address_space.hpp"
#include "host/memory.hpp"

namespace ashore::device::sim {

Error PinnedMemory::allocate(std::size_t bytes, Device device, PinnedRange& range) {
  const std::size_t page = host::page_bytes();
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) return Error::kOutOfMemory;
  const std::size_t mapped_bytes = (bytes + page - 1) / page * page;
  void* const begin = host::map_pages(mapped_bytes);
  if (begin == nullptr) return Error::kOutOfMemory;
  if (bytes >= host::kHugePagesFrom) host::advise_huge(begin, mapped_bytes);
  range = {reinterpret_cast<std::uintptr_t>(begin), bytes, mapped_bytes, device};
  ranges_.emplace(range.begin, range);
  bytes_ += bytes;
  return Error::kSuccess;
}

Error PinnedMemory::free(std::uintptr_t begin) {
  const auto found = ranges_.find(begin);
  if (found == ranges_.end() || found->second.mapped_bytes == 0) return Error::kInvalidValue;
  host::unmap(host::pointer_to(begin), found->second.mapped_bytes);
  bytes_ -= found->second.bytes;
  ranges_.erase(found);
  return Error::kSuccess;
}

Error PinnedMemory::add(std::uintptr_t begin, std::size_t bytes, Device device) {
  if (begin == 0 || bytes == 0 || begin + bytes < begin) return Error::kInvalidValue;
  if (overlaps(begin, bytes)) return Error::kHostMemoryAlreadyRegistered;
  ranges_.emplace(begin, PinnedRange{begin, bytes, 0, device});
  bytes_ += bytes;
  return Error::kSuccess;
}

Error PinnedMemory::remove(std::uintptr_t begin) {
  const auto found = ranges_.find(begin);
  if (found == ranges_.end() || found->second.mapped_bytes != 0) {
    return Error::kHostMemoryNotRegistered;
  }
  bytes_ -= found->second.bytes;
  ranges_.erase(found);
  return Error::kSuccess;
}

const PinnedRange* PinnedMemory::find(std::uintptr_t begin, std::size_t bytes) const {
  const auto after = ranges_.upper_bound(begin);
  if (after == ranges_.begin()) return nullptr;
  const PinnedRange& range = std::prev(after)->second;
  const std::size_t offset = begin - range.begin;
  return offset < range.bytes && bytes <= range.bytes - offset ? &range : nullptr;
}

bool PinnedMemory::overlaps(std::uintptr_t begin, std::size_t bytes) const {
  const auto after = ranges_.upper_bound(begin + bytes - 1);
  if (after == ranges_.begin()) return false;
  const PinnedRange& range = std::prev(after)->second;
  return range.begin + range.bytes > begin;
}

}  // namespace ashore::device::sim
