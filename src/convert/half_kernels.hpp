// float16 to float and back by the CPU's own instructions (F16C), in place of the kernels that the
// compiler makes of lanes.hpp. Included by cast_kernels.hpp.
#pragma once

#include <cstddef>

#include "convert/row_access.hpp"
#include "host/simd_target.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace ashore::f16c {

inline constexpr std::size_t kHalves = 16;  // in a step
inline constexpr std::size_t kFloatBytes = kHalves * sizeof(float);
inline constexpr std::size_t kHalfBytes = kHalves * sizeof(std::uint16_t);

// With a mask of all: g++ 12 takes the plain forms for uses of uninitialised values.
inline constexpr __mmask16 kAll = 0xffff;

/// The CPU keeps the payload of a NaN; NumPy and ml_dtypes make each the quiet one with its sign.
ASHORE_TARGET_AVX2 ASHORE_INLINE __m256i plain_nans(__m256i halves) noexcept {
  const __m256i magnitude = _mm256_and_si256(halves, _mm256_set1_epi16(0x7fff));
  const __m256i is_nan = _mm256_cmpgt_epi16(magnitude, _mm256_set1_epi16(0x7c00));
  return _mm256_andnot_si256(_mm256_and_si256(is_nan, _mm256_set1_epi16(0x01ff)), halves);
}

/// Widen steps of halves; returns how many elements are done.
ASHORE_TARGET_AVX2 ASHORE_INLINE std::size_t widen_avx2(const char* from, char* to,
                                                        std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + kHalves <= count; i += kHalves, from += kHalfBytes, to += kFloatBytes) {
    const auto* halves = reinterpret_cast<const __m128i*>(from);
    auto* floats = reinterpret_cast<float*>(to);
    _mm256_storeu_ps(floats, _mm256_cvtph_ps(_mm_loadu_si128(halves)));
    _mm256_storeu_ps(floats + 8, _mm256_cvtph_ps(_mm_loadu_si128(halves + 1)));
  }
  return i;
}

ASHORE_TARGET_AVX2 ASHORE_INLINE std::size_t narrow_avx2(const char* from, char* to,
                                                         std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + kHalves <= count; i += kHalves, from += kFloatBytes, to += kHalfBytes) {
    const auto* floats = reinterpret_cast<const float*>(from);
    const __m128i low = _mm256_cvtps_ph(_mm256_loadu_ps(floats), _MM_FROUND_TO_NEAREST_INT);
    const __m128i high = _mm256_cvtps_ph(_mm256_loadu_ps(floats + 8), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), plain_nans(_mm256_set_m128i(high, low)));
  }
  return i;
}

ASHORE_TARGET_AVX512 ASHORE_INLINE std::size_t widen_avx512(const char* from, char* to,
                                                            std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + kHalves <= count; i += kHalves, from += kHalfBytes, to += kFloatBytes) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    _mm512_storeu_ps(to, _mm512_maskz_cvtph_ps(kAll, halves));
  }
  return i;
}

ASHORE_TARGET_AVX512 ASHORE_INLINE std::size_t narrow_avx512(const char* from, char* to,
                                                             std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + kHalves <= count; i += kHalves, from += kFloatBytes, to += kHalfBytes) {
    const __m256i halves =
        _mm512_maskz_cvtps_ph(kAll, _mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), plain_nans(halves));
  }
  return i;
}

/// Round doubles to halves once: cut to float with the lost bits kept as an odd last one, which
/// decides ties there, then rounded.
ASHORE_TARGET_AVX512 ASHORE_INLINE __m256 cut_to_odd(const char* from) noexcept {
  const __m512d values = _mm512_loadu_pd(from);
  const __m256 cut =
      _mm512_maskz_cvt_roundpd_ps(0xff, values, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __mmask8 lossy = _mm512_cmp_pd_mask(_mm512_maskz_cvtps_pd(0xff, cut), values, _CMP_NEQ_OQ);
  const __m256i bits = _mm256_castps_si256(cut);
  return _mm256_castsi256_ps(_mm256_mask_or_epi32(bits, lossy, bits, _mm256_set1_epi32(1)));
}

ASHORE_TARGET_AVX512 ASHORE_INLINE std::size_t narrow_doubles_avx512(const char* from, char* to,
                                                                     std::size_t count) noexcept {
  std::size_t i = 0;
  for (; i + kHalves <= count; i += kHalves, from += 2 * kFloatBytes, to += kHalfBytes) {
    const __m128i low = _mm256_cvtps_ph(cut_to_odd(from), _MM_FROUND_TO_NEAREST_INT);
    const __m128i high = _mm256_cvtps_ph(cut_to_odd(from + 64), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), plain_nans(_mm256_set_m128i(high, low)));
  }
  return i;
}

/// Kernels in the shape of host::At: steps of vectors, then the compiler's kernel for what is left.
template <typename Rest>
struct WidenAvx2 {
  template <typename... Arguments>
  ASHORE_TARGET_AVX2 static void call(const char* from, char* to, std::size_t count) noexcept {
    const std::size_t done = widen_avx2(from, to, count);
    Rest::run(from + done * 2, to + done * 4, count - done);
  }
};
template <typename Rest>
struct NarrowAvx2 {
  template <typename... Arguments>
  ASHORE_TARGET_AVX2 static void call(const char* from, char* to, std::size_t count) noexcept {
    const std::size_t done = narrow_avx2(from, to, count);
    Rest::run(from + done * 4, to + done * 2, count - done);
  }
};
template <typename Rest>
struct WidenAvx512 {
  template <typename... Arguments>
  ASHORE_TARGET_AVX512 static void call(const char* from, char* to, std::size_t count) noexcept {
    const std::size_t done = widen_avx512(from, to, count);
    Rest::run(from + done * 2, to + done * 4, count - done);
  }
};
template <typename Rest>
struct NarrowAvx512 {
  template <typename... Arguments>
  ASHORE_TARGET_AVX512 static void call(const char* from, char* to, std::size_t count) noexcept {
    const std::size_t done = narrow_avx512(from, to, count);
    Rest::run(from + done * 4, to + done * 2, count - done);
  }
};

template <typename Rest>
struct NarrowDoubleAvx512 {
  template <typename... Arguments>
  ASHORE_TARGET_AVX512 static void call(const char* from, char* to, std::size_t count) noexcept {
    const std::size_t done = narrow_doubles_avx512(from, to, count);
    Rest::run(from + done * 8, to + done * 2, count - done);
  }
};

}  // namespace ashore::f16c
#endif
