// When threads pay, and how large the pieces are that they take. Called by convert's executors.
#pragma once

#include <ashore/threads.hpp>

#include <algorithm>
#include <cstddef>

namespace ashore {

/// Say whether so many bytes, read and written together, are worth waking a thread for.
inline bool pays_for_threads(std::size_t bytes) noexcept {
  constexpr std::size_t kParallelBytes = std::size_t{512} << 10;
  return bytes >= kParallelBytes && num_threads() > 1;
}

/// Return the bytes of one piece: some for each thread, so that a thread that lost its CPU holds up
/// little; large enough that taking one costs nothing.
inline std::size_t piece_bytes(std::size_t bytes) noexcept {
  constexpr std::size_t kLeast = std::size_t{128} << 10;
  constexpr std::size_t kMost = std::size_t{4} << 20;
  const auto threads = static_cast<std::size_t>(num_threads());
  return std::clamp(bytes / (threads * 8), kLeast, kMost);
}

}  // namespace ashore
