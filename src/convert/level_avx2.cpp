// The kernels of one level: AVX2.
#include "convert/cast_kernels.hpp"
#include "convert/image_kernels.hpp"
#include "convert/stream_kernels.hpp"
#include "convert/swap_kernels.hpp"
#include "convert/tile_kernels.hpp"

namespace ashore {
namespace {

constexpr auto kLevel = host::SimdLevel::kAvx2;

}  // namespace

extern constexpr Kernels kAvx2Kernels{
    make_casts<kLevel>(),
    make_tiles<kLevel>(),
    {kSwap<kLevel, std::uint16_t>, kSwap<kLevel, std::uint32_t>, kSwap<kLevel, std::uint64_t>},
    kZeros<kLevel>,
    kStream<kLevel>,
    kQuantise<kLevel, float>,
    kQuantise<kLevel, double>};

}  // namespace ashore
