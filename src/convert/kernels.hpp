// The kernels of each level of vector instructions, as tables of functions. Called by the cast
// (cast.cpp) and, for moves, by the layouts (move.cpp).
#pragma once

#include <ashore/dtype.hpp>

#include <cstddef>
#include <cstdint>

#include "convert/element.hpp"
#include "convert/tile.hpp"
#include "host/cpu_features.hpp"

namespace ashore {

/// The types of number through which a cast goes; see lanes.hpp.
enum class Hub : std::uint8_t { kInt32, kInt64, kUInt64, kFloat, kDouble, kNone };
inline constexpr int kHubCount = 5;

/// Casts `count` numbers that lie one after the other, at any alignment. Source and destination do
/// not overlap.
using RowKernel = void (*)(const char* source, char* destination, std::size_t count);

/// The casts of one level. A dtype stands for one of its parts: complex elements are two.
struct CastKernels {
  RowKernel load[kConvertibleCount];              ///< from the dtype to its hub; null: no hub
  RowKernel store[kHubCount][kConvertibleCount];  ///< from a hub to the dtype; null: none, or
                                                  ///< by way of float
  RowKernel direct[kConvertibleCount][kConvertibleCount];  ///< from dtype to dtype; mostly null
};

/// Kernels that put a zero behind each number of 2, 4 or 8 bytes.
struct ZeroKernels {
  RowKernel behind_2, behind_4, behind_8;

  RowKernel behind(std::size_t bytes) const noexcept {
    return bytes == 2 ? behind_2 : bytes == 4 ? behind_4 : behind_8;
  }
};

/// Kernels that turn the bytes of parts of 2, 4 and 8 bytes, by the logarithm of that minus 1.
inline constexpr int kSwapCount = 3;

/// Maps `count` floats or doubles to bytes: (x - low) * scale in that type, rounded, clamped.
using QuantiseKernel = void (*)(const char* source, std::uint8_t* destination, std::size_t count,
                                double low, double scale);

/// All that is compiled for one level.
struct Kernels {
  CastKernels casts;
  TileKernels tiles;
  RowKernel swaps[kSwapCount];
  ZeroKernels zeros;
  RowKernel stream;  ///< of whole cache lines to whole cache lines, past the caches
  QuantiseKernel quantise_float;
  QuantiseKernel quantise_double;
};

extern const Kernels kBaselineKernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;

/// Return the kernels of the level in use.
inline const Kernels& kernels() noexcept {
  switch (host::simd_level()) {
    case host::SimdLevel::kAvx512:
      return kAvx512Kernels;
    case host::SimdLevel::kAvx2:
      return kAvx2Kernels;
    case host::SimdLevel::kBaseline:
      break;
  }
  return kBaselineKernels;
}

}  // namespace ashore
