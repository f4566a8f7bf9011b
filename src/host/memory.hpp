// Aligned memory of the host. Called by whoever allocates a result in C++ (emit, convert, the
// device pool).
#pragma once

#include <ashore/result.hpp>

#include <cstddef>
#include <memory>

namespace ashore::host {

/// Every buffer starts on a cache line.
inline constexpr std::size_t kAlignment = 64;
/// From this size on a buffer starts on a huge page, and asks the kernel for them.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
inline constexpr std::size_t kHugePagesFrom = std::size_t{4} << 20;

/// Gives memory of `allocate` back.
struct Free {
  void operator()(void* memory) const noexcept;
};

using Buffer = std::unique_ptr<void, Free>;

/// Allocate `bytes` uninitialised bytes; never null, also for 0. Fails with kNoMemory.
Result<Buffer> allocate(std::size_t bytes);

}  // namespace ashore::host
