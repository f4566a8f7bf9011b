// Floats to integers by the CPU's own instructions, in place of the kernels that the compiler makes
// of lanes.hpp: it knows no minimum that heeds NaN. Included by cast_kernels.hpp.
//
// The same rule: what is out of range saturates, NaN becomes 0.
#pragma once

#include <ashore/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "host/simd_target.hpp"

namespace ashore {

/// Say whether there are kernels into this dtype: from float32, float64 and at AVX-512 from the
/// floats of two bytes.
constexpr bool is_truncated(DType to) noexcept {
  return to == DType::kInt8 || to == DType::kUInt8 || to == DType::kInt16 || to == DType::kUInt16 ||
         to == DType::kInt32;
}

}  // namespace ashore

#if defined(__x86_64__)
#include <immintrin.h>

namespace ashore::truncation {

inline constexpr std::size_t kStep = 16;  // elements

template <DType kTo>
inline constexpr int kBytes = kTo == DType::kInt32                            ? 4
                              : kTo == DType::kInt16 || kTo == DType::kUInt16 ? 2
                                                                              : 1;
template <DType kTo>
inline constexpr bool kIsSigned = !(kTo == DType::kUInt8 || kTo == DType::kUInt16);
template <DType kTo>
inline constexpr double kHigh =
    static_cast<double>((std::int64_t{1} << (8 * kBytes<kTo> - (kIsSigned<kTo> ? 1 : 0))) - 1);
template <DType kTo>
inline constexpr double kLow = kIsSigned<kTo> ? -kHigh<kTo> - 1 : 0;

// --- AVX-512; with masks, for g++ 12 takes the plain forms for uses of uninitialised values ------

inline constexpr __mmask16 kAll = 0xffff;

template <DType kFrom>
ASHORE_TARGET_AVX512 ASHORE_INLINE __m512 load_floats(const char* from) noexcept {
  if constexpr (kFrom == DType::kFloat32) {
    return _mm512_loadu_ps(from);
  } else {
    const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    if constexpr (kFrom == DType::kFloat16) return _mm512_maskz_cvtph_ps(kAll, narrow);
    return _mm512_castsi512_ps(
        _mm512_maskz_slli_epi32(kAll, _mm512_maskz_cvtepu16_epi32(kAll, narrow), 16));
  }
}

/// Cut sixteen floats to integers of four bytes.
template <DType kTo>
ASHORE_TARGET_AVX512 ASHORE_INLINE __m512i cut_avx512(__m512 values) noexcept {
  const __mmask16 numbers = _mm512_cmp_ps_mask(values, values, _CMP_ORD_Q);
  if constexpr (kBytes<kTo> == 4) {
    // Below the range the instruction gives the least integer by itself.
    const __mmask16 above = _mm512_cmp_ps_mask(values, _mm512_set1_ps(0x1p31f), _CMP_GE_OQ);
    return _mm512_mask_mov_epi32(_mm512_maskz_cvttps_epi32(numbers, values), above,
                                 _mm512_set1_epi32(std::numeric_limits<std::int32_t>::max()));
  } else {
    const __m512 low = _mm512_set1_ps(static_cast<float>(kLow<kTo>));
    const __m512 high = _mm512_set1_ps(static_cast<float>(kHigh<kTo>));
    return _mm512_maskz_cvttps_epi32(
        numbers, _mm512_maskz_min_ps(kAll, _mm512_maskz_max_ps(kAll, values, low), high));
  }
}

/// The same of eight doubles.
template <DType kTo>
ASHORE_TARGET_AVX512 ASHORE_INLINE __m256i cut_doubles_avx512(const char* from) noexcept {
  const __m512d values = _mm512_loadu_pd(from);
  const __mmask8 numbers = _mm512_cmp_pd_mask(values, values, _CMP_ORD_Q);
  const __m512d low = _mm512_set1_pd(kLow<kTo>), high = _mm512_set1_pd(kHigh<kTo>);
  const __m512d inside = _mm512_maskz_min_pd(0xff, _mm512_maskz_max_pd(0xff, values, low), high);
  return _mm512_maskz_cvttpd_epi32(numbers, inside);
}

template <DType kFrom, DType kTo, typename Rest>
struct CutAvx512 {
  template <typename... Arguments>
  ASHORE_TARGET_AVX512 static void call(const char* from, char* to, std::size_t count) noexcept {
    constexpr std::size_t kFromBytes = kFrom == DType::kFloat64   ? 8
                                       : kFrom == DType::kFloat32 ? 4
                                                                  : 2;
    for (; count >= kStep; count -= kStep) {
      __m512i cut;
      if constexpr (kFrom == DType::kFloat64) {
        const __m512i low = _mm512_maskz_inserti64x4(0xff, _mm512_setzero_si512(),
                                                     cut_doubles_avx512<kTo>(from), 0);
        cut = _mm512_maskz_inserti64x4(0xff, low, cut_doubles_avx512<kTo>(from + 64), 1);
      } else {
        cut = cut_avx512<kTo>(load_floats<kFrom>(from));
      }
      if constexpr (kBytes<kTo> == 4) {
        _mm512_storeu_si512(to, cut);
      } else if constexpr (kBytes<kTo> == 2) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtepi32_epi16(kAll, cut));
      } else {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_maskz_cvtepi32_epi8(kAll, cut));
      }
      from += kStep * kFromBytes;
      to += kStep * static_cast<std::size_t>(kBytes<kTo>);
    }
    Rest::run(from, to, count);
  }
};

// --- AVX2 ----------------------------------------------------------------------------------------

/// Cut eight floats to integers of four bytes.
template <DType kTo>
ASHORE_TARGET_AVX2 ASHORE_INLINE __m256i cut_floats_avx2(const char* from) noexcept {
  const __m256 values = _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  const __m256i numbers = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_ORD_Q));
  if constexpr (kBytes<kTo> == 4) {
    // Above the range the instruction gives the least integer; its complement is the greatest.
    const __m256 above = _mm256_cmp_ps(values, _mm256_set1_ps(0x1p31f), _CMP_GE_OQ);
    const __m256i cut = _mm256_xor_si256(_mm256_cvttps_epi32(values), _mm256_castps_si256(above));
    return _mm256_and_si256(cut, numbers);
  } else {
    const __m256 low = _mm256_set1_ps(static_cast<float>(kLow<kTo>));
    const __m256 high = _mm256_set1_ps(static_cast<float>(kHigh<kTo>));
    const __m256 inside = _mm256_min_ps(_mm256_max_ps(values, low), high);
    return _mm256_and_si256(_mm256_cvttps_epi32(inside), numbers);
  }
}

/// The same of four doubles.
template <DType kTo>
ASHORE_TARGET_AVX2 ASHORE_INLINE __m128i cut_doubles_avx2(const char* from) noexcept {
  const __m256d values = _mm256_loadu_pd(reinterpret_cast<const double*>(from));
  // NaN to zero first: there is no mask of half the width.
  const __m256d numbers = _mm256_and_pd(values, _mm256_cmp_pd(values, values, _CMP_ORD_Q));
  const __m256d low = _mm256_set1_pd(kLow<kTo>), high = _mm256_set1_pd(kHigh<kTo>);
  return _mm256_cvttpd_epi32(_mm256_min_pd(_mm256_max_pd(numbers, low), high));
}

template <DType kFrom, DType kTo>
ASHORE_TARGET_AVX2 ASHORE_INLINE __m256i cut_avx2(const char* from) noexcept {
  if constexpr (kFrom == DType::kFloat32) return cut_floats_avx2<kTo>(from);
  return _mm256_set_m128i(cut_doubles_avx2<kTo>(from + 32), cut_doubles_avx2<kTo>(from));
}

template <DType kFrom, DType kTo, typename Rest>
struct CutAvx2 {
  template <typename... Arguments>
  ASHORE_TARGET_AVX2 static void call(const char* from, char* to, std::size_t count) noexcept {
    constexpr std::size_t kFromBytes = kFrom == DType::kFloat64 ? 8 : 4;
    for (; count >= kStep; count -= kStep) {
      const __m256i a = cut_avx2<kFrom, kTo>(from);
      const __m256i b = cut_avx2<kFrom, kTo>(from + 8 * kFromBytes);
      auto* const out = reinterpret_cast<__m256i*>(to);
      if constexpr (kBytes<kTo> == 4) {
        _mm256_storeu_si256(out, a);
        _mm256_storeu_si256(out + 1, b);
      } else {
        // All is in range: nothing saturates here. The halves of two vectors come out in turn.
        const __m256i turns =
            kTo == DType::kUInt16 ? _mm256_packus_epi32(a, b) : _mm256_packs_epi32(a, b);
        const __m256i pairs = _mm256_permute4x64_epi64(turns, 0xd8);
        if constexpr (kBytes<kTo> == 2) {
          _mm256_storeu_si256(out, pairs);
        } else {
          const __m128i low = _mm256_castsi256_si128(pairs);
          const __m128i high = _mm256_extracti128_si256(pairs, 1);
          _mm_storeu_si128(reinterpret_cast<__m128i*>(to), kIsSigned<kTo>
                                                               ? _mm_packs_epi16(low, high)
                                                               : _mm_packus_epi16(low, high));
        }
      }
      from += kStep * kFromBytes;
      to += kStep * static_cast<std::size_t>(kBytes<kTo>);
    }
    Rest::run(from, to, count);
  }
};

}  // namespace ashore::truncation
#endif
