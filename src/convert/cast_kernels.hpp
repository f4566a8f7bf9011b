// The cast kernels: for each dtype a loop into its hub, and one out of each hub, compiled for a
// level. Included by level_*.cpp alone.
#pragma once

#include <type_traits>
#include <utility>

#include "convert/half_kernels.hpp"
#include "convert/kernels.hpp"
#include "convert/lanes.hpp"
#include "convert/row_access.hpp"
#include "convert/truncate_kernels.hpp"
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

/// The same for floats of a byte, from a table.
template <DType kType>
struct LoadByTable {
  using L = lanes::Lane<kType>;
  ASHORE_INLINE static void run(const char* __restrict from, char* __restrict to,
                                std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      write<float>(to, i, Element<kType>::kTable[read<std::uint8_t>(from, i)]);
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

/// From dtype to dtype without a stop at the hub.
template <DType kFrom, DType kTo>
struct Direct {
  ASHORE_INLINE static void run(const char* __restrict from, char* __restrict to,
                                std::size_t count) noexcept {
    using From = typename lanes::Lane<kFrom>::Bits;
    using To = typename lanes::Lane<kTo>::Bits;
    for (std::size_t i = 0; i < count; ++i) {
      write<To>(to, i, lanes::Lane<kTo>::encode(lanes::Lane<kFrom>::decode(read<From>(from, i))));
    }
  }
};

/// Put a zero behind each number: the imaginary parts.
template <typename T>
struct AddZeros {
  ASHORE_INLINE static void run(const char* __restrict from, char* __restrict to,
                                std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      // As a number of twice the width, whose upper half comes second in memory.
      if constexpr (sizeof(T) == 2) {
        write<std::uint32_t>(to, i, read<T>(from, i));
      } else if constexpr (sizeof(T) == 4) {
        write<std::uint64_t>(to, i, read<T>(from, i));
      } else {
        write<T>(to, 2 * i, read<T>(from, i));
        write<T>(to, 2 * i + 1, 0);
      }
    }
  }
};

#if defined(__x86_64__)
}  // namespace ashore

// clang-format off
namespace ashore::host {
template <> struct At<SimdLevel::kAvx2, Load<DType::kFloat16>> : f16c::WidenAvx2<Load<DType::kFloat16>> {};
template <> struct At<SimdLevel::kAvx2, Load<DType::kComplex32>> : f16c::WidenAvx2<Load<DType::kComplex32>> {};
template <> struct At<SimdLevel::kAvx2, Store<DType::kFloat16, float>> : f16c::NarrowAvx2<Store<DType::kFloat16, float>> {};
template <> struct At<SimdLevel::kAvx2, Store<DType::kComplex32, float>> : f16c::NarrowAvx2<Store<DType::kComplex32, float>> {};
template <> struct At<SimdLevel::kAvx512, Load<DType::kFloat16>> : f16c::WidenAvx512<Load<DType::kFloat16>> {};
template <> struct At<SimdLevel::kAvx512, Load<DType::kComplex32>> : f16c::WidenAvx512<Load<DType::kComplex32>> {};
template <> struct At<SimdLevel::kAvx512, Store<DType::kFloat16, float>> : f16c::NarrowAvx512<Store<DType::kFloat16, float>> {};
template <> struct At<SimdLevel::kAvx512, Store<DType::kComplex32, float>> : f16c::NarrowAvx512<Store<DType::kComplex32, float>> {};
template <> struct At<SimdLevel::kAvx512, Store<DType::kFloat16, double>> : f16c::NarrowDoubleAvx512<Store<DType::kFloat16, double>> {};
template <DType kTo> requires(is_truncated(kTo)) struct At<SimdLevel::kAvx2, Store<kTo, float>> : truncation::CutAvx2<DType::kFloat32, kTo, Store<kTo, float>> {};
template <DType kTo> requires(is_truncated(kTo)) struct At<SimdLevel::kAvx2, Store<kTo, double>> : truncation::CutAvx2<DType::kFloat64, kTo, Store<kTo, double>> {};
template <DType kTo> requires(is_truncated(kTo)) struct At<SimdLevel::kAvx512, Store<kTo, float>> : truncation::CutAvx512<DType::kFloat32, kTo, Store<kTo, float>> {};
template <DType kTo> requires(is_truncated(kTo)) struct At<SimdLevel::kAvx512, Store<kTo, double>> : truncation::CutAvx512<DType::kFloat64, kTo, Store<kTo, double>> {};
template <DType kTo> requires(is_truncated(kTo)) struct At<SimdLevel::kAvx512, Direct<DType::kBFloat16, kTo>> : truncation::CutAvx512<DType::kBFloat16, kTo, Direct<DType::kBFloat16, kTo>> {};
template <DType kTo> requires(is_truncated(kTo)) struct At<SimdLevel::kAvx512, Direct<DType::kFloat16, kTo>> : truncation::CutAvx512<DType::kFloat16, kTo, Direct<DType::kFloat16, kTo>> {};
}  // namespace ashore::host
// clang-format on

namespace ashore {
#endif

template <host::SimdLevel kLevel, typename Kernel>
inline constexpr RowKernel kRow =
    &host::At<kLevel, Kernel>::template call<const char*, char*, std::size_t>;

template <host::SimdLevel kLevel>
inline constexpr ZeroKernels kZeros{kRow<kLevel, AddZeros<std::uint16_t>>,
                                    kRow<kLevel, AddZeros<std::uint32_t>>,
                                    kRow<kLevel, AddZeros<std::uint64_t>>};

/// The kernel into the hub: by table where a level's vectors are slower than that.
template <host::SimdLevel kLevel, DType kType>
constexpr RowKernel choose_load() {
  using L = lanes::Lane<kType>;
  if constexpr (kLevel != host::SimdLevel::kAvx512 && L::kIsSmallFloat &&
                sizeof(typename L::Bits) == 1) {
    return kRow<kLevel, LoadByTable<kType>>;
  } else {
    return kRow<kLevel, Load<kType>>;
  }
}

/// Say whether a cast from hub H into a dtype is float's: what goes into a small format is rounded
/// to float first (float64 to float16 excepted), and that is a cast of its own.
template <DType kType, typename H>
inline constexpr bool kPassesFloat =
    !std::is_same_v<H, float> && lanes::Lane<kType>::kIsSmallFloat &&
    !(std::is_same_v<H, double> && kType == DType::kFloat16);

template <host::SimdLevel kLevel, DType kType, typename H>
constexpr void fill_store(CastKernels& casts) {
  if constexpr (!kPassesFloat<kType, H>) {
    casts.store[static_cast<int>(kHubOf<H>)][static_cast<std::size_t>(kType)] =
        kRow<kLevel, Store<kType, H>>;
  }
}

template <host::SimdLevel kLevel, DType kType>
constexpr void fill_casts(CastKernels& casts) {
  if constexpr (!std::is_void_v<typename lanes::Lane<kType>::Hub>) {
    casts.load[static_cast<std::size_t>(kType)] = choose_load<kLevel, kType>();
    fill_store<kLevel, kType, std::int32_t>(casts);
    fill_store<kLevel, kType, std::int64_t>(casts);
    fill_store<kLevel, kType, std::uint64_t>(casts);
    fill_store<kLevel, kType, float>(casts);
    fill_store<kLevel, kType, double>(casts);
  }
}

/// The pairs that are worth a kernel of their own: narrow integers into each other and into floats,
/// where the way over a block of the hub's numbers is longer than the work.
template <host::SimdLevel kLevel, DType kFrom, DType... kTo>
constexpr void fill_direct(CastKernels& casts) {
  ((casts.direct[static_cast<std::size_t>(kFrom)][static_cast<std::size_t>(kTo)] =
        kFrom == kTo ? nullptr : kRow<kLevel, Direct<kFrom, kTo>>),
   ...);
}
template <host::SimdLevel kLevel, DType... kFrom>
constexpr void fill_all_direct(CastKernels& casts) {
  (fill_direct<kLevel, kFrom, DType::kBool, DType::kInt8, DType::kUInt8, DType::kInt16,
               DType::kUInt16, DType::kInt64, DType::kFloat32, DType::kFloat64>(casts),
   ...);
}

template <host::SimdLevel kLevel, DType kFrom>
constexpr void fill_cuts(CastKernels& casts) {
  fill_direct<kLevel, kFrom, DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16,
              DType::kInt32>(casts);
}

template <host::SimdLevel kLevel, std::size_t... kIndex>
constexpr CastKernels make_casts(std::index_sequence<kIndex...>) {
  CastKernels casts{};
  (fill_casts<kLevel, static_cast<DType>(kIndex)>(casts), ...);
  fill_all_direct<kLevel, DType::kBool, DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16>(
      casts);
  fill_direct<kLevel, DType::kBFloat16, DType::kBool>(casts);
  if constexpr (kLevel == host::SimdLevel::kAvx512) {
    fill_cuts<kLevel, DType::kFloat16>(casts);
    fill_cuts<kLevel, DType::kBFloat16>(casts);
  }
  return casts;
}

/// The casts of one level.
template <host::SimdLevel kLevel>
constexpr CastKernels make_casts() {
  return make_casts<kLevel>(std::make_index_sequence<kConvertibleCount>());
}

}  // namespace ashore
