// The kernels that turn byte order, compiled for a level. Included by level_*.cpp alone.
#pragma once

#include <cstdint>

#include "convert/kernels.hpp"
#include "convert/row_access.hpp"
#include "host/simd_target.hpp"

namespace ashore {

template <typename T>
struct Swap {
  ASHORE_INLINE static T turn(T bits) noexcept {
    if constexpr (sizeof(T) == 2) return __builtin_bswap16(bits);
    if constexpr (sizeof(T) == 4) return __builtin_bswap32(bits);
    if constexpr (sizeof(T) == 8) return __builtin_bswap64(bits);
  }
  ASHORE_INLINE static void run(const char* __restrict from, char* __restrict to,
                                std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) write<T>(to, i, turn(read<T>(from, i)));
  }
};

/// The swap of parts of type T at one level.
template <host::SimdLevel kLevel, typename T>
inline constexpr RowKernel kSwap =
    &host::At<kLevel, Swap<T>>::template call<const char*, char*, std::size_t>;

}  // namespace ashore
