// Copy kernels by element size, with and without a change of byte order; convert picks one.
#include "convert/copy_run.hpp"

#include <algorithm>
#include <cstring>

#include "core/assert.hpp"

namespace ashore {
namespace {

template <std::size_t kItem>
void copy(const Run& run) {
  constexpr auto kStep = static_cast<std::ptrdiff_t>(kItem);
  if (run.source_stride == kStep && run.destination_stride == kStep) {
    std::memcpy(run.destination, run.source, run.count * kItem);
    return;
  }
  const char* from = run.source;
  char* to = run.destination;
  for (std::size_t i = 0; i < run.count; ++i) {
    std::memcpy(to, from, kItem);
    from += run.source_stride;
    to += run.destination_stride;
  }
}

template <std::size_t kItem, std::size_t kPart>
void copy_swapped(const Run& run) {
  const char* from = run.source;
  char* to = run.destination;
  for (std::size_t i = 0; i < run.count; ++i) {
    char bytes[kItem];
    std::memcpy(bytes, from, kItem);
    for (std::size_t part = 0; part < kItem; part += kPart) {
      std::reverse(bytes + part, bytes + part + kPart);
    }
    std::memcpy(to, bytes, kItem);
    from += run.source_stride;
    to += run.destination_stride;
  }
}

template <std::size_t kItem>
CopyKernel choose(std::size_t part_bytes, bool swap) noexcept {
  if (!swap || part_bytes == 1) return &copy<kItem>;
  if constexpr (kItem > 1) {
    return part_bytes == kItem ? &copy_swapped<kItem, kItem> : &copy_swapped<kItem, kItem / 2>;
  }
  return nullptr;
}

}  // namespace

CopyKernel find_copy(std::size_t item_bytes, std::size_t part_bytes, bool swap) noexcept {
  ASHORE_ASSERT(part_bytes == item_bytes || 2 * part_bytes == item_bytes);
  switch (item_bytes) {
    case 1:
      return choose<1>(part_bytes, swap);
    case 2:
      return choose<2>(part_bytes, swap);
    case 4:
      return choose<4>(part_bytes, swap);
    case 8:
      return choose<8>(part_bytes, swap);
    case 16:
      return choose<16>(part_bytes, swap);
    default:
      ASHORE_ASSERT(item_bytes == 32);
      return choose<32>(part_bytes, swap);
  }
}

}  // namespace ashore
