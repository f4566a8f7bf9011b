// Images: numbers of any dtype to bytes, channels last. Called by the Python bindings (`to_image`).
#pragma once

#include <ashore/array.hpp>
#include <ashore/result.hpp>

#include <cstdint>

namespace ashore {

/// How numbers become bytes.
struct ImageSpec {
  bool scale = true;  ///< map [low, high] to [0, 255]; without it the source must be uint8
  double low = 0;
  double high = 1;
  bool swap_red_blue = false;  ///< exchange channels 0 and 2 of 3 or 4
};

/// Write `source`, whose four axes are image, row, column and channel (any strides), into
/// `destination`, row-major in that order, in one pass.
///
/// Scaling is (x - low) * (255 / (high - low)) in float32 (float64 for a float64 source; other
/// dtypes are cast to float32 first), each step rounded by itself, then rounded half to even and
/// clamped; NaN becomes 0 (contract I1). Fails with kInvalid (axes, channels, range) or
/// kUnsupported (dtype).
Status to_image(ArrayView source, const ImageSpec& spec, std::uint8_t* destination);

}  // namespace ashore
