// Compiles a kernel once for each level of vector instructions, by the target attribute of one
// function each. Included by the files that fill the kernel tables (convert/level_*.cpp).
//
// A kernel is a struct with an always-inline static function `run`, written as plain loops or on
// vector types of the compiler. `At<level, Kernel>::call` has the same parameters; the body of
// `run` is inlined there and so compiled for that level, and for no other. Nothing else may be
// called in `run` that is not inlined as well: an ordinary inline function would be compiled for
// the baseline.
#pragma once

#include "host/cpu_features.hpp"

#define ASHORE_INLINE [[gnu::always_inline]] inline

#if defined(__x86_64__)
#define ASHORE_TARGET_AVX2 [[gnu::target("avx2,f16c,bmi,bmi2")]]
#if defined(__clang__)
#define ASHORE_TARGET_AVX512 \
  [[gnu::target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,f16c,bmi,bmi2")]]
#else
#define ASHORE_TARGET_AVX512                                       \
  [[gnu::target(                                                   \
      "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,f16c,bmi," \
      "bmi2,prefer-vector-width=512")]]
#endif
#else
#define ASHORE_TARGET_AVX2
#define ASHORE_TARGET_AVX512
#endif

namespace ashore::host {

template <SimdLevel kLevel, typename Kernel>
struct At;

template <typename Kernel>
struct At<SimdLevel::kBaseline, Kernel> {
  template <typename... Arguments>
  static void call(Arguments... arguments) noexcept {
    Kernel::run(arguments...);
  }
};

template <typename Kernel>
struct At<SimdLevel::kAvx2, Kernel> {
  template <typename... Arguments>
  ASHORE_TARGET_AVX2 static void call(Arguments... arguments) noexcept {
    Kernel::run(arguments...);
  }
};

template <typename Kernel>
struct At<SimdLevel::kAvx512, Kernel> {
  template <typename... Arguments>
  ASHORE_TARGET_AVX512 static void call(Arguments... arguments) noexcept {
    Kernel::run(arguments...);
  }
};

/// Bytes of the widest vector register of a level.
template <SimdLevel kLevel>
inline constexpr int kVectorBytes = kLevel == SimdLevel::kAvx512 ? 64
                                    : kLevel == SimdLevel::kAvx2 ? 32
                                                                 : 16;

}  // namespace ashore::host
