// The kernels of one level: AVX2.
#include "convert/cast_kernels.hpp"
#include "convert/tile_kernels.hpp"

namespace ashore {

extern constexpr Kernels kAvx2Kernels{make_casts<host::SimdLevel::kAvx2>(),
                                      make_tiles<host::SimdLevel::kAvx2>()};

}  // namespace ashore
