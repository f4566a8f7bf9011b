// Address space and whole pages, by mmap and its relatives.
#include "host/address_space.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "core/assert.hpp"

namespace ashore::host {
namespace {

int flags_of(Access access) noexcept {
  switch (access) {
    case Access::kNone:
      return PROT_NONE;
    case Access::kRead:
      return PROT_READ;
    case Access::kReadWrite:
      break;
  }
  return PROT_READ | PROT_WRITE;
}

void* map(std::size_t bytes, int protection, int more_flags) noexcept {
  void* const begin =
      ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
  return begin == MAP_FAILED ? nullptr : begin;
}

}  // namespace

std::size_t page_bytes() noexcept {
  static const std::size_t bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

void* reserve(std::size_t bytes) noexcept { return map(bytes, PROT_NONE, MAP_NORESERVE); }

void* map_pages(std::size_t bytes) noexcept { return map(bytes, PROT_READ | PROT_WRITE, 0); }

void unmap(void* begin, std::size_t bytes) noexcept { (void)::munmap(begin, bytes); }

bool protect(void* begin, std::size_t bytes, Access access) noexcept {
  return ::mprotect(begin, bytes, flags_of(access)) == 0;
}

void discard_pages(void* begin, std::size_t bytes) noexcept {
  ASHORE_ASSERT(reinterpret_cast<std::uintptr_t>(begin) % page_bytes() == 0);
  ASHORE_ASSERT(bytes % page_bytes() == 0);
  if (bytes > 0) (void)::madvise(begin, bytes, MADV_DONTNEED);
}

void advise_huge(void* begin, std::size_t bytes) noexcept {
  (void)::madvise(begin, bytes, MADV_HUGEPAGE);
}

void advise_no_dump(void* begin, std::size_t bytes) noexcept {
  (void)::madvise(begin, bytes, MADV_DONTDUMP);
}

}  // namespace ashore::host
