// The copy that goes past the caches, compiled for a level. Included by level_*.cpp alone.
#pragma once

#include <cstddef>
#include <cstring>

#include "convert/kernels.hpp"
#include "host/simd_target.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ashore {

/// Copy `bytes`, a number of cache lines, to a place that begins on one. The caller puts a fence
/// behind its last copy.
template <host::SimdLevel kLevel>
struct Stream {
  ASHORE_INLINE static void run(const char* __restrict from, char* __restrict to,
                                std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
  }
};

#if defined(__x86_64__)
}  // namespace ashore

namespace ashore::host {

// An intrinsic has the level of the function that it is in, so each has one of its own.
template <>
struct At<SimdLevel::kBaseline, Stream<SimdLevel::kBaseline>> {
  template <typename... Arguments>
  static void call(const char* from, char* to, std::size_t bytes) noexcept {
    for (std::size_t at = 0; at < bytes; at += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
    }
  }
};
template <>
struct At<SimdLevel::kAvx2, Stream<SimdLevel::kAvx2>> {
  template <typename... Arguments>
  ASHORE_TARGET_AVX2 static void call(const char* from, char* to, std::size_t bytes) noexcept {
    for (std::size_t at = 0; at < bytes; at += sizeof(__m256i)) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at)));
    }
  }
};
template <>
struct At<SimdLevel::kAvx512, Stream<SimdLevel::kAvx512>> {
  template <typename... Arguments>
  ASHORE_TARGET_AVX512 static void call(const char* from, char* to, std::size_t bytes) noexcept {
    for (std::size_t at = 0; at < bytes; at += sizeof(__m512i)) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
    }
  }
};

}  // namespace ashore::host

namespace ashore {
#endif

/// The streaming copy of one level.
template <host::SimdLevel kLevel>
inline constexpr RowKernel kStream =
    &host::At<kLevel, Stream<kLevel>>::template call<const char*, char*, std::size_t>;

}  // namespace ashore
