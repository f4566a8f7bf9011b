// Allocates aligned memory, on huge pages when it is large; the only file that asks POSIX for
// memory.
#include "host/memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <limits>
#include <string>

namespace ashore::host {

void Free::operator()(void* memory) const noexcept { std::free(memory); }

Result<Buffer> allocate(std::size_t bytes) {
  const bool huge = bytes >= kHugePagesFrom;
  const std::size_t alignment = huge ? kHugePageBytes : kAlignment;
  void* memory = nullptr;
  const std::size_t limit = std::numeric_limits<std::size_t>::max() / 2;
  if (bytes > limit || ::posix_memalign(&memory, alignment, bytes == 0 ? 1 : bytes) != 0) {
    return Status(Code::kNoMemory,
                  "cannot allocate " + std::to_string(bytes) +
                      " bytes of host memory; convert in smaller pieces or free some");
  }
  // Advice only: without huge pages the memory works all the same, page by page.
  if (huge) (void)::madvise(memory, bytes, MADV_HUGEPAGE);
  return Buffer(memory);
}

}  // namespace ashore::host
