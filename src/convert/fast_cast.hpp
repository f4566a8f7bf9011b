// The fast cast: vector kernels of the level in use. Called through the table in cast.cpp.
#pragma once

#include "convert/cast.hpp"

namespace ashore {

/// Say whether the fast cast knows a pair of dtypes (not: long double, complex to real).
bool fast_cast_exists(DType from, DType to) noexcept;

/// Cast a run, in native byte order and untransformed, to the bits that the staged cast gives.
void fast_cast(const CastJob& job, const Run& run);

}  // namespace ashore
