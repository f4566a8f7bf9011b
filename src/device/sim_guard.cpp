// Page protection of pinned memory under a copy.
#include "device/sim_guard.hpp"

#include <iterator>

#include "host/address_space.hpp"

namespace ashore::device::sim {
namespace {

bool holds(const GuardSlot& slot, std::uintptr_t address) {
  const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
  return begin != 0 && address >= begin &&
         address - begin < slot.bytes.load(std::memory_order_relaxed);
}

}  // namespace

void Guards::add_region(std::uintptr_t begin, std::size_t bytes) {
  const std::size_t pages = (bytes + host::page_bytes() - 1) / host::page_bytes();
  Region region;
  region.begin = begin;
  region.bytes = pages * host::page_bytes();
  region.destinations.assign(pages, 0);
  region.sources.assign(pages, 0);
  region.slot = take_slot(region_slots_);
  region.slot->bytes.store(region.bytes, std::memory_order_relaxed);
  region.slot->begin.store(begin, std::memory_order_release);
  regions_.emplace(begin, std::move(region));
}

void Guards::remove_region(std::uintptr_t begin) {
  const auto found = regions_.find(begin);
  if (found == regions_.end()) return;
  found->second.slot->begin.store(0, std::memory_order_release);
  regions_.erase(found);
}

GuardSlot* Guards::guard(bool is_destination, std::uintptr_t begin, std::size_t bytes,
                         Device device, std::uint64_t origin) {
  const Pages pages = pages_of(begin, bytes);
  if (pages.region == nullptr) return nullptr;
  GuardSlot* const slot = take_slot(copies_);
  slot->bytes.store(bytes, std::memory_order_relaxed);
  slot->origin.store(origin, std::memory_order_relaxed);
  slot->device.store(device, std::memory_order_relaxed);
  slot->is_destination.store(is_destination, std::memory_order_relaxed);
  slot->reported.store(false, std::memory_order_relaxed);
  slot->begin.store(begin, std::memory_order_release);
  count(pages, is_destination, 1);
  apply(pages);
  return slot;
}

bool Guards::release(GuardSlot* slot) {
  const std::uintptr_t begin = slot->begin.exchange(0, std::memory_order_acq_rel);
  const Pages pages = pages_of(begin, slot->bytes.load(std::memory_order_relaxed));
  if (pages.region != nullptr) {
    count(pages, slot->is_destination.load(std::memory_order_relaxed), ~std::uint32_t{0});
    apply(pages);
  }
  return slot->reported.load(std::memory_order_relaxed);
}

void Guards::open(std::uintptr_t begin, std::size_t bytes) {
  const Pages pages = pages_of(begin, bytes);
  if (pages.region == nullptr) return;
  const std::size_t page = host::page_bytes();
  host::protect(host::pointer_to(pages.region->begin + pages.first * page),
                (pages.last - pages.first) * page, host::Access::kReadWrite);
}

void Guards::restore(std::uintptr_t begin, std::size_t bytes) {
  const Pages pages = pages_of(begin, bytes);
  if (pages.region != nullptr) apply(pages);
}

bool Guards::look(std::uintptr_t address, bool is_write, MisuseReport& report, bool& is_misuse) {
  is_misuse = false;
  const std::size_t page = host::page_bytes();
  std::uintptr_t open_begin = address / page * page;
  std::uintptr_t open_end = open_begin + page;
  GuardSlot* const region = find_region(region_slots_, address);
  if (region == nullptr) return false;
  if (GuardSlot* const slot = find_copy(copies_, address, is_write)) {
    const std::uintptr_t begin = slot->begin.load(std::memory_order_acquire);
    const std::size_t bytes = slot->bytes.load(std::memory_order_relaxed);
    const bool is_destination = slot->is_destination.load(std::memory_order_relaxed);
    if (begin != 0 && address - begin < bytes && !slot->reported.exchange(true)) {
      is_misuse = true;
      report.kind = is_destination && !is_write ? Misuse::kReadEarly : Misuse::kWrittenEarly;
      report.origin = slot->origin.load(std::memory_order_relaxed);
      report.address = host::pointer_to(address);
      report.size_bytes = bytes;
      report.device = slot->device.load(std::memory_order_relaxed);
      report.in_signal_handler = true;
      open_begin = begin / page * page;
      open_end = (begin + bytes + page - 1) / page * page;
    }
  }
  host::protect(host::pointer_to(open_begin), open_end - open_begin, host::Access::kReadWrite);
  return true;
}

void Guards::open_all() {
  for (const auto& [begin, region] : regions_) {
    host::protect(host::pointer_to(begin), region.bytes, host::Access::kReadWrite);
  }
}

Guards::Pages Guards::pages_of(std::uintptr_t begin, std::size_t bytes) {
  const auto after = regions_.upper_bound(begin);
  if (after == regions_.begin() || bytes == 0) return {};
  Region& region = std::prev(after)->second;
  const std::size_t offset = begin - region.begin;
  if (offset >= region.bytes || bytes > region.bytes - offset) return {};
  const std::size_t page = host::page_bytes();
  return {&region, offset / page, (offset + bytes + page - 1) / page};
}

void Guards::count(const Pages& pages, bool is_destination, std::uint32_t step) {
  std::vector<std::uint32_t>& counts =
      is_destination ? pages.region->destinations : pages.region->sources;
  for (std::size_t i = pages.first; i < pages.last; ++i) counts[i] += step;
}

void Guards::apply(const Pages& pages) {
  const Region& region = *pages.region;
  const auto access_of = [&](std::size_t i) {
    if (region.destinations[i] > 0) return host::Access::kNone;
    return region.sources[i] > 0 ? host::Access::kRead : host::Access::kReadWrite;
  };
  const std::size_t page = host::page_bytes();
  for (std::size_t first = pages.first; first < pages.last;) {
    const host::Access access = access_of(first);
    std::size_t last = first + 1;
    while (last < pages.last && access_of(last) == access) ++last;
    host::protect(host::pointer_to(region.begin + first * page), (last - first) * page, access);
    first = last;
  }
}

GuardSlot* Guards::take_slot(Chunk& first) {
  for (Chunk* chunk = &first;; chunk = chunk->next.load(std::memory_order_acquire)) {
    for (GuardSlot& slot : chunk->slots) {
      if (slot.begin.load(std::memory_order_relaxed) == 0) return &slot;
    }
    if (chunk->next.load(std::memory_order_relaxed) == nullptr) {
      chunk->next.store(new Chunk, std::memory_order_release);
    }
  }
}

// Both walk the slots without a lock: what they find may be gone a moment later.
GuardSlot* Guards::find_region(Chunk& first, std::uintptr_t address) {
  for (Chunk* chunk = &first; chunk != nullptr;
       chunk = chunk->next.load(std::memory_order_acquire)) {
    for (GuardSlot& slot : chunk->slots) {
      if (holds(slot, address)) return &slot;
    }
  }
  return nullptr;
}

GuardSlot* Guards::find_copy(Chunk& first, std::uintptr_t address, bool is_write) {
  for (Chunk* chunk = &first; chunk != nullptr;
       chunk = chunk->next.load(std::memory_order_acquire)) {
    for (GuardSlot& slot : chunk->slots) {
      if (!holds(slot, address) || slot.reported.load(std::memory_order_relaxed)) continue;
      // The source of a copy may be read; its page may be closed for the sake of another copy.
      if (is_write || slot.is_destination.load(std::memory_order_relaxed)) return &slot;
    }
  }
  return nullptr;
}

}  // namespace ashore::device::sim
