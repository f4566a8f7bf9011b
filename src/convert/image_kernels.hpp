// The kernels that map numbers to bytes for to_image, compiled for a level. Included by level_*.cpp
// alone.
#pragma once

#include <cstdint>

#include "convert/kernels.hpp"
#include "convert/row_access.hpp"
#include "host/simd_target.hpp"

namespace ashore {

template <typename F>
struct Quantise {
  /// In [0, 255] adding and taking away this constant leaves the nearest whole number, ties to
  /// even, as the FPU rounds; clamping before rounding gives the same as after.
  static constexpr F kWhole = sizeof(F) == 4 ? F{8388608} : F{4503599627370496};

  ASHORE_INLINE static void run(const char* __restrict from, std::uint8_t* __restrict to,
                                std::size_t count, double low_value, double scale_value) noexcept {
    const F low = static_cast<F>(low_value);
    const F scale = static_cast<F>(scale_value);
    for (std::size_t i = 0; i < count; ++i) {
      F scaled = (read<F>(from, i) - low) * scale;
      scaled = scaled > F{0} ? scaled : F{0};  // NaN as well
      scaled = scaled < F{255} ? scaled : F{255};
      to[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>((scaled + kWhole) - kWhole));
    }
  }
};

template <host::SimdLevel kLevel, typename F>
inline constexpr QuantiseKernel kQuantise =
    &host::At<kLevel, Quantise<F>>::template call<const char*, std::uint8_t*, std::size_t, double,
                                                  double>;

}  // namespace ashore
