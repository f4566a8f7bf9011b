// Address space and whole pages: reserving, opening, protecting, giving back. Called by the
// simulated device for its arenas and for pinned memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashore::host {

/// The pointer to an address that was worked out as a number.
inline std::byte* pointer_to(std::uintptr_t address) noexcept {
  // Pages and devices are a matter of numbers; no optimization hangs on what these pointed to
  // before.
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

enum class Access { kNone, kRead, kReadWrite };

/// Bytes of a page of memory.
std::size_t page_bytes() noexcept;

/// Reserve address space that nothing can access and that costs no memory; null where it cannot be
/// had.
void* reserve(std::size_t bytes) noexcept;
/// Map zeroed pages to read and write; null where there are none.
void* map_pages(std::size_t bytes) noexcept;
/// Give back what `reserve` or `map_pages` gave.
void unmap(void* begin, std::size_t bytes) noexcept;

/// Change what may be done with whole pages. Async-signal-safe.
bool protect(void* begin, std::size_t bytes, Access access) noexcept;

/// Give the memory of whole pages back to the system; they read as zeros afterwards. `begin` and
/// `bytes` must be multiples of a page: the system rounds a length up, and would empty a neighbour.
void discard_pages(void* begin, std::size_t bytes) noexcept;
/// Ask for huge pages. Advice only.
void advise_huge(void* begin, std::size_t bytes) noexcept;
/// Leave a range out of core dumps. Advice only.
void advise_no_dump(void* begin, std::size_t bytes) noexcept;

}  // namespace ashore::host
