// The cast kernels: for each dtype a loop into its hub, and one out of each hub, compiled for a
// level. Included by level_*.cpp alone.
#pragma once

#include <type_traits>
#include <utility>

#include "convert/kernels.hpp"
#include "convert/lanes.hpp"
#include "convert/row_access.hpp"
#include "host/simd_target.hpp"

namespace ashore {

template <typename H>
inline constexpr Hub kHubOf = std::is_same_v<H, std::int32_t>    ? Hub::kInt32
                              : std::is_same_v<H, std::int64_t>  ? Hub::kInt64
                              : std::is_same_v<H, std::uint64_t> ? Hub::kUInt64
                              : std::is_same_v<H, float>         ? Hub::kFloat
                              : std::is_same_v<H, double>        ? Hub::kDouble
                                                                 : Hub::kNone;

template <DType kType>
struct Load {
  using L = lanes::Lane<kType>;
  ASHORE_INLINE static void run(const char* __restrict from, char* __restrict to,
                                std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      write<typename L::Hub>(to, i, L::decode(read<typename L::Bits>(from, i)));
    }
  }
};

template <DType kType, typename H>
struct Store {
  using L = lanes::Lane<kType>;
  ASHORE_INLINE static void run(const char* __restrict from, char* __restrict to,
                                std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      write<typename L::Bits>(to, i, L::encode(read<H>(from, i)));
    }
  }
};

template <host::SimdLevel kLevel, typename Kernel>
inline constexpr RowKernel kRow =
    &host::At<kLevel, Kernel>::template call<const char*, char*, std::size_t>;

template <host::SimdLevel kLevel, DType kType>
constexpr void fill_casts(CastKernels& casts) {
  constexpr auto kIndex = static_cast<std::size_t>(kType);
  if constexpr (!std::is_void_v<typename lanes::Lane<kType>::Hub>) {
    casts.load[kIndex] = kRow<kLevel, Load<kType>>;
    casts.store[static_cast<int>(Hub::kInt32)][kIndex] = kRow<kLevel, Store<kType, std::int32_t>>;
    casts.store[static_cast<int>(Hub::kInt64)][kIndex] = kRow<kLevel, Store<kType, std::int64_t>>;
    casts.store[static_cast<int>(Hub::kUInt64)][kIndex] = kRow<kLevel, Store<kType, std::uint64_t>>;
    casts.store[static_cast<int>(Hub::kFloat)][kIndex] = kRow<kLevel, Store<kType, float>>;
    casts.store[static_cast<int>(Hub::kDouble)][kIndex] = kRow<kLevel, Store<kType, double>>;
  }
}

template <host::SimdLevel kLevel, std::size_t... kIndex>
constexpr CastKernels make_casts(std::index_sequence<kIndex...>) {
  CastKernels casts{};
  (fill_casts<kLevel, static_cast<DType>(kIndex)>(casts), ...);
  return casts;
}

/// The casts of one level.
template <host::SimdLevel kLevel>
constexpr CastKernels make_casts() {
  return make_casts<kLevel>(std::make_index_sequence<kConvertibleCount>());
}

}  // namespace ashore
