// The kernels of one level: AVX-512.
#include "convert/cast_kernels.hpp"
#include "convert/tile_kernels.hpp"

namespace ashore {

extern constexpr Kernels kAvx512Kernels{make_casts<host::SimdLevel::kAvx512>(),
                                        make_tiles<host::SimdLevel::kAvx512>()};

}  // namespace ashore
