// The tile kernels that weave 2 to 4 channels into each other and apart. Included by the kernel
// headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "convert/row_access.hpp"
#include "convert/tile.hpp"
#include "convert/transpose.hpp"
#include "host/simd_target.hpp"

namespace ashore {

/// Bytes of the vectors that are woven; 0 where single elements are faster. Without PSHUFB (the
/// x86-64 baseline) bytes and pairs of bytes have no shuffle.
template <typename T, host::SimdLevel kLevel>
inline constexpr int kWeaveBytes = sizeof(T) > 8                                            ? 0
                                   : sizeof(T) <= 2 && kLevel == host::SimdLevel::kBaseline ? 0
                                   : sizeof(T) <= 2                                         ? 16
                                                    : host::kVectorBytes<kLevel>;

/// What shuffles of two vectors at a time put together from kCount vectors that lie in a row: for
/// output kOut of `Weave`, element by element.
struct Apart {  // vectors of kCount elements in turn, to one vector for each channel
  static constexpr std::size_t source(std::size_t count, std::size_t, std::size_t out,
                                      std::size_t i) {
    return count * i + out;
  }
};
struct Together {  // a vector for each channel, to vectors of kCount elements in turn
  static constexpr std::size_t source(std::size_t count, std::size_t elems, std::size_t out,
                                      std::size_t i) {
    const std::size_t place = out * elems + i;
    return place % count * elems + place / count;
  }
};

/// The index for a shuffle of (what is there so far, vector kNext): keep, take, or do not care.
template <typename Rule>
constexpr int weave_index(std::size_t count, std::size_t elems, std::size_t out, std::size_t next,
                          std::size_t i) {
  const std::size_t source = Rule::source(count, elems, out, i);
  const std::size_t vector = source / elems, lane = source % elems;
  if (vector == next) return static_cast<int>(elems + lane);
  if (vector > next) return -1;
  return static_cast<int>(next == 1 ? lane : i);  // the first shuffle takes vector 0 as it is
}

template <typename Rule, std::size_t kCount, std::size_t kOut, std::size_t kNext, typename V,
          std::size_t... kIndex>
ASHORE_INLINE void weave_step(const V& next, V& out, std::index_sequence<kIndex...>) noexcept {
  out = __builtin_shufflevector(
      out, next, weave_index<Rule>(kCount, sizeof...(kIndex), kOut, kNext, kIndex)...);
}

template <typename Rule, std::size_t kCount, std::size_t kElems, std::size_t kOut, typename V>
ASHORE_INLINE void weave_output(const V (&in)[kCount], V& out) noexcept {
  constexpr auto kIndex = std::make_index_sequence<kElems>();
  out = in[0];
  weave_step<Rule, kCount, kOut, 1>(in[1], out, kIndex);
  if constexpr (kCount > 2) weave_step<Rule, kCount, kOut, 2>(in[2], out, kIndex);
  if constexpr (kCount > 3) weave_step<Rule, kCount, kOut, 3>(in[3], out, kIndex);
}

template <typename Rule, std::size_t kCount, std::size_t kElems, typename V>
ASHORE_INLINE void weave(const V (&in)[kCount], V (&out)[kCount]) noexcept {
  weave_output<Rule, kCount, kElems, 0>(in, out[0]);
  weave_output<Rule, kCount, kElems, 1>(in, out[1]);
  if constexpr (kCount > 2) weave_output<Rule, kCount, kElems, 2>(in, out[2]);
  if constexpr (kCount > 3) weave_output<Rule, kCount, kElems, 3>(in, out[3]);
}

/// Weave kCount rows, `apart` bytes from each other, into one, or (kSplits) one row into kCount.
template <typename T, host::SimdLevel kLevel, std::size_t kCount, bool kSplits>
ASHORE_INLINE void weave_rows(const char* from, char* to, std::ptrdiff_t apart,
                              std::size_t count) noexcept {
  std::size_t i = 0;
  if constexpr (kWeaveBytes<T, kLevel> != 0) {
    using V = typename VectorOf<T, kWeaveBytes<T, kLevel>>::type;
    constexpr std::size_t kElems = sizeof(V) / sizeof(T);
    for (; i + kElems <= count; i += kElems) {
      V in[kCount], out[kCount];
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kCount; ++k) {
        const auto row = static_cast<std::ptrdiff_t>(k) * apart;
        std::memcpy(&in[k],
                    from + (kSplits ? (kCount * i + k * kElems) * sizeof(T) : i * sizeof(T)) +
                        (kSplits ? 0 : row),
                    sizeof(V));
      }
      weave<std::conditional_t<kSplits, Apart, Together>, kCount, kElems>(in, out);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kCount; ++k) {
        const auto row = static_cast<std::ptrdiff_t>(k) * apart;
        std::memcpy(to + (kSplits ? i * sizeof(T) : (kCount * i + k * kElems) * sizeof(T)) +
                        (kSplits ? row : 0),
                    &out[k], sizeof(V));
      }
    }
  }
  for (; i < count; ++i) {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kCount; ++k) {
      const auto row = static_cast<std::ptrdiff_t>(k) * apart;
      if constexpr (kSplits) {
        write<T>(to + row, i, read<T>(from, kCount * i + k));
      } else {
        write<T>(to, kCount * i + k, read<T>(from + row, i));
      }
    }
  }
}

template <typename T, host::SimdLevel kLevel>
struct MoveInterleave {
  ASHORE_INLINE static void run(const Tile& tile) noexcept {
    const char* const from = tile.source;
    const std::ptrdiff_t apart = tile.source_col;
    const std::size_t count = tile.rows;
    if (tile.cols == 2)
      return weave_rows<T, kLevel, 2, false>(from, tile.destination, apart, count);
    if (tile.cols == 3)
      return weave_rows<T, kLevel, 3, false>(from, tile.destination, apart, count);
    weave_rows<T, kLevel, 4, false>(from, tile.destination, apart, count);
  }
};

template <typename T, host::SimdLevel kLevel>
struct MoveDeinterleave {
  ASHORE_INLINE static void run(const Tile& tile) noexcept {
    char* const to = tile.destination;
    const std::ptrdiff_t apart = tile.destination_row;
    const std::size_t count = tile.cols;
    if (tile.rows == 2) return weave_rows<T, kLevel, 2, true>(tile.source, to, apart, count);
    if (tile.rows == 3) return weave_rows<T, kLevel, 3, true>(tile.source, to, apart, count);
    weave_rows<T, kLevel, 4, true>(tile.source, to, apart, count);
  }
};

}  // namespace ashore
