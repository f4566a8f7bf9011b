// The kernels of one level: what every CPU of the architecture runs.
#include "convert/cast_kernels.hpp"
#include "convert/tile_kernels.hpp"

namespace ashore {

extern constexpr Kernels kBaselineKernels{make_casts<host::SimdLevel::kBaseline>(),
                                          make_tiles<host::SimdLevel::kBaseline>()};

}  // namespace ashore
