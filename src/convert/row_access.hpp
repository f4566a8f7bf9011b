// Reads and writes of elements at any address, for kernels. Included by the kernel headers.
#pragma once

#include <cstddef>
#include <cstring>

#include "host/simd_target.hpp"

namespace ashore {

/// A vector of the compiler, of kBytes bytes.
template <typename T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));  // NOLINT(modernize-use-using)
};

/// Return element `index` of a row of T.
template <typename T>
ASHORE_INLINE T read(const char* from, std::size_t index) noexcept {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

/// Set element `index` of a row of T.
template <typename T>
ASHORE_INLINE void write(char* to, std::size_t index, T value) noexcept {
  std::memcpy(to + index * sizeof(T), &value, sizeof(T));
}

}  // namespace ashore
