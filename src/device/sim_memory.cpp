// Reserves device address space and keeps its blocks.
#include "device/sim_memory.hpp"

#include <algorithm>
#include <limits>
#include <list>
#include <string>
#include <utility>

#include "host/address_space.hpp"
#include "host/memory.hpp"

namespace ashore::device::sim {
namespace {

constexpr std::size_t kLeastSpan = std::size_t{64} << 30;
constexpr std::size_t kMostMemory = std::size_t{1} << 42;
constexpr std::size_t kReturnAtOnceFrom = std::size_t{1} << 20;
constexpr std::size_t kReturnSmallFrom = std::size_t{64} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}
std::size_t round_down(std::size_t bytes, std::size_t unit) { return bytes / unit * unit; }

// A text that lives as long as the process.
const char* keep(std::string text) {
  static std::list<std::string>& texts = *new std::list<std::string>;
  return texts.emplace_back(std::move(text)).c_str();
}

}  // namespace

const char* DeviceMemory::reserve(const SimulatorOptions& options) {
  if (options.memory_bytes == 0 || options.memory_bytes > kMostMemory) {
    return keep("memory_bytes is " + std::to_string(options.memory_bytes) +
                "; it must be from 1 to " + std::to_string(kMostMemory));
  }
  const std::size_t least = round_up(options.memory_bytes, host::kHugePageBytes);
  const std::size_t halves = options.protect_device ? 2 : 1;
  const auto count = static_cast<std::size_t>(options.device_count);
  for (const std::size_t span : {std::max(kLeastSpan, 4 * least), 4 * least, 2 * least,
                                 round_up(least + least / 4, host::kHugePageBytes), least}) {
    const std::size_t half_bytes = std::max<std::size_t>(count, 1) * span;
    const std::size_t whole_bytes = halves * half_bytes + host::kHugePageBytes;
    void* const whole = host::reserve(whole_bytes);
    if (whole == nullptr) continue;
    const std::uintptr_t base =
        round_up(reinterpret_cast<std::uintptr_t>(whole), host::kHugePageBytes);
    const std::uintptr_t bytes_at = base + (halves - 1) * half_bytes;
    if (!host::protect(host::pointer_to(bytes_at), half_bytes, host::Access::kReadWrite)) {
      host::unmap(whole, whole_bytes);
      continue;
    }
    host::advise_no_dump(whole, whole_bytes);
    space_ = {base, span, static_cast<std::ptrdiff_t>(bytes_at - base), options.device_count};
    arenas_.assign(count, Arena(span, options.memory_bytes));
    advised_.assign(count, std::vector<bool>(span / host::kHugePageBytes));
    unreturned_bytes_.assign(count, 0);
    return nullptr;
  }
  std::string message = "cannot reserve address space for " + std::to_string(count) +
                        " simulated device(s) of " + std::to_string(options.memory_bytes) +
                        " bytes; raise the limit (ulimit -v), or ask for less memory";
  if (options.protect_device) message += ", or turn protect_device off, which needs half";
  return keep(std::move(message));
}

Error DeviceMemory::allocate(Device device, std::size_t bytes, DevicePointer& pointer) {
  std::size_t offset = 0;
  if (!arena(device).allocate(bytes, offset)) return Error::kOutOfMemory;
  if (bytes >= host::kHugePagesFrom) want_huge_pages(device, {offset, bytes});
  pointer = base_of(device) + offset;
  return Error::kSuccess;
}

Error DeviceMemory::free(DevicePointer pointer) {
  const Device device = device_of(pointer);
  if (device < 0) return Error::kInvalidValue;
  Span freed;
  Span hole;
  if (!arena(device).free(pointer - base_of(device), freed, hole)) return Error::kInvalidValue;
  give_back(device, freed, hole);
  return Error::kSuccess;
}

void DeviceMemory::free_all(Device device) {
  const std::size_t capacity = arena(device).capacity_bytes();
  arena(device) = Arena(space_.span_bytes, capacity);
  host::discard_pages(bytes_of(base_of(device)), space_.span_bytes);
}

Error DeviceMemory::set_capacity(Device device, std::size_t bytes) {
  if (bytes == 0 || bytes > space_.span_bytes) return Error::kInvalidValue;
  arena(device).set_capacity(bytes);
  return Error::kSuccess;
}

bool DeviceMemory::find(DevicePointer address, Block& block) const {
  const Device device = device_of(address);
  Span span;
  if (device < 0 || !arena(device).find(address - base_of(device), span)) return false;
  block = {device, base_of(device) + span.offset, span.bytes};
  return true;
}

Device DeviceMemory::device_of(std::uintptr_t address) const {
  if (space_.span_bytes == 0 || address < space_.device_base) return -1;
  const std::size_t device = (address - space_.device_base) / space_.span_bytes;
  return device < arenas_.size() ? static_cast<Device>(device) : -1;
}

// Only pages that lie in the hole as a whole: a page at its edge holds bytes of a live neighbour
// too.
void DeviceMemory::give_back(Device device, Span freed, Span hole) {
  const std::size_t page = host::page_bytes();
  std::byte* const base = bytes_of(base_of(device));
  const auto return_pages = [&](std::size_t begin, std::size_t end) {
    begin = round_up(begin, page);
    end = round_down(end, page);
    if (begin < end) host::discard_pages(base + begin, end - begin);
  };
  if (freed.bytes >= kReturnAtOnceFrom) {
    // The pages at both edges of the block may be whole by now, together with what was free beside
    // it.
    return_pages(std::max(hole.offset, round_down(freed.offset, page)),
                 std::min(hole.offset + hole.bytes, round_up(freed.offset + freed.bytes, page)));
    return;
  }
  std::size_t& unreturned = unreturned_bytes_[static_cast<std::size_t>(device)];
  unreturned += freed.bytes;
  if (unreturned < kReturnSmallFrom) return;
  unreturned = 0;
  for (const auto& [offset, bytes] : arena(device).holes()) return_pages(offset, offset + bytes);
}

void DeviceMemory::want_huge_pages(Device device, Span block) {
  const std::size_t huge = host::kHugePageBytes;
  std::vector<bool>& advised = advised_[static_cast<std::size_t>(device)];
  const std::size_t first = round_up(block.offset, huge) / huge;
  const std::size_t last = (block.offset + block.bytes) / huge;
  bool all = true;
  for (std::size_t i = first; i < last; ++i) all = all && advised[i];
  if (all) return;
  host::advise_huge(bytes_of(base_of(device)) + first * huge, (last - first) * huge);
  std::fill(advised.begin() + static_cast<std::ptrdiff_t>(first),
            advised.begin() + static_cast<std::ptrdiff_t>(last), true);
}

}  // namespace ashore::device::sim
