// The transposing tile kernel: squares of vectors, turned in registers. Included by the kernel
// headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "convert/row_access.hpp"
#include "convert/tile.hpp"
#include "host/simd_target.hpp"

namespace ashore {

/// Take elements of a and b in turn, from element kFrom on.
template <typename V, std::size_t kElems, std::size_t kFrom, std::size_t... kIndex>
ASHORE_INLINE void zip(const V& a, const V& b, V& out, std::index_sequence<kIndex...>) noexcept {
  out = __builtin_shufflevector(a, b, (kFrom + kIndex / 2 + (kIndex % 2 != 0 ? kElems : 0))...);
}

/// Turn a square of kElems vectors of kElems elements: zip the upper half of the rows with the
/// lower one, as often as it takes for each element to change places.
template <typename V, std::size_t kElems>
ASHORE_INLINE void turn_square(V (&rows)[kElems]) noexcept {
  constexpr auto kIndex = std::make_index_sequence<kElems>();
#pragma GCC unroll 8
  for (std::size_t stage = 1; stage < kElems; stage *= 2) {
    V zipped[kElems];
#pragma GCC unroll 32
    for (std::size_t i = 0; i < kElems / 2; ++i) {
      zip<V, kElems, 0>(rows[i], rows[i + kElems / 2], zipped[2 * i], kIndex);
      zip<V, kElems, kElems / 2>(rows[i], rows[i + kElems / 2], zipped[2 * i + 1], kIndex);
    }
#pragma GCC unroll 32
    for (std::size_t i = 0; i < kElems; ++i) rows[i] = zipped[i];
  }
}

/// Put elements `step_bytes` apart one after the other: four loads, then four stores, which is what
/// the compiler does not make of a plain loop.
template <typename T>
ASHORE_INLINE void gather_row(const char* __restrict from, char* __restrict to, std::size_t count,
                              std::ptrdiff_t step_bytes) noexcept {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4, from += 4 * step_bytes) {
    const T a = read<T>(from, 0), b = read<T>(from + step_bytes, 0);
    const T c = read<T>(from + 2 * step_bytes, 0), d = read<T>(from + 3 * step_bytes, 0);
    write<T>(to, i, a);
    write<T>(to, i + 1, b);
    write<T>(to, i + 2, c);
    write<T>(to, i + 3, d);
  }
  for (; i < count; ++i, from += step_bytes) write<T>(to, i, read<T>(from, 0));
}

/// Move rows of kCols elements: without a loop over them.
template <typename T, std::size_t kCols>
ASHORE_INLINE void move_narrow(const char* __restrict from, char* __restrict to,
                               const Tile& tile) noexcept {
  const std::ptrdiff_t source_row = tile.source_row, source_col = tile.source_col;
  const std::ptrdiff_t destination_row = tile.destination_row;
  for (std::size_t row = 0; row < tile.rows; ++row) {
#pragma GCC unroll 8
    for (std::size_t col = 0; col < kCols; ++col) {
      write<T>(to, col, read<T>(from + static_cast<std::ptrdiff_t>(col) * source_col, 0));
    }
    from += source_row;
    to += destination_row;
  }
}

/// Rows of at most kMostNarrowCols elements, any strides apart.
template <typename T>
ASHORE_INLINE void move_narrow_rows(const Tile& tile) noexcept {
  switch (tile.cols) {
    case 1:
      return move_narrow<T, 1>(tile.source, tile.destination, tile);
    case 2:
      return move_narrow<T, 2>(tile.source, tile.destination, tile);
    case 3:
      return move_narrow<T, 3>(tile.source, tile.destination, tile);
    case 4:
      return move_narrow<T, 4>(tile.source, tile.destination, tile);
    case 5:
      return move_narrow<T, 5>(tile.source, tile.destination, tile);
    case 6:
      return move_narrow<T, 6>(tile.source, tile.destination, tile);
    case 7:
      return move_narrow<T, 7>(tile.source, tile.destination, tile);
    default:
      return move_narrow<T, kMostNarrowCols>(tile.source, tile.destination, tile);
  }
}

/// Bytes of a side of the square: bytes and pairs of bytes have no cheap shuffle across more than
/// 16 bytes.
template <typename T, host::SimdLevel kLevel>
inline constexpr int kSquareBytes = sizeof(T) <= 2 ? 16 : host::kVectorBytes<kLevel>;

template <typename T, host::SimdLevel kLevel>
struct MoveTranspose {
  static constexpr std::size_t kSquareElems =
      static_cast<std::size_t>(kSquareBytes<T, kLevel>) / sizeof(T);
  static constexpr std::size_t kLineBytes = 64;

  /// Element by element, a part of the tile.
  ASHORE_INLINE static void move_each(const Tile& tile, std::size_t row, std::size_t row_end,
                                      std::size_t first_col, std::size_t col_end) noexcept {
    for (; row < row_end; ++row) {
      const char* from = tile.source + static_cast<std::ptrdiff_t>(row) * tile.source_row;
      char* to = tile.destination + static_cast<std::ptrdiff_t>(row) * tile.destination_row;
      gather_row<T>(from + static_cast<std::ptrdiff_t>(first_col) * tile.source_col,
                    to + first_col * sizeof(T), col_end - first_col, tile.source_col);
    }
  }

  ASHORE_INLINE static void move_all(const Tile& tile) noexcept {
    if (tile.cols <= kMostNarrowCols) return move_narrow_rows<T>(tile);
    move_each(tile, 0, tile.rows, 0, tile.cols);
  }

  /// Ask for the lines that lie one tile further down from those of a square.
  ASHORE_INLINE static void prefetch_next(const Tile& tile, std::size_t row,
                                          std::size_t col) noexcept {
    const char* const from = tile.source + (row + tile.rows) * sizeof(T);
#pragma GCC unroll 32
    for (std::size_t i = 0; i < kSquareElems; ++i) {
      __builtin_prefetch(from + static_cast<std::ptrdiff_t>(col + i) * tile.source_col, 0, 2);
    }
  }

  /// Turn the square whose first element is in that row and column.
  ASHORE_INLINE static void move_square(const Tile& tile, std::size_t row,
                                        std::size_t col) noexcept {
    using V = typename VectorOf<T, kSquareBytes<T, kLevel>>::type;
    const char* const from = tile.source + row * sizeof(T);
    char* const to = tile.destination + static_cast<std::ptrdiff_t>(row) * tile.destination_row +
                     col * sizeof(T);
    V square[kSquareElems];
#pragma GCC unroll 32
    for (std::size_t i = 0; i < kSquareElems; ++i) {
      std::memcpy(&square[i], from + static_cast<std::ptrdiff_t>(col + i) * tile.source_col,
                  sizeof(V));
    }
    turn_square(square);
#pragma GCC unroll 32
    for (std::size_t i = 0; i < kSquareElems; ++i) {
      std::memcpy(to + static_cast<std::ptrdiff_t>(i) * tile.destination_row, &square[i],
                  sizeof(V));
    }
  }

  ASHORE_INLINE static void run(const Tile& tile) noexcept {
    if constexpr (sizeof(T) > 8) {
      move_all(tile);
    } else {
      constexpr std::size_t kElems = kSquareElems;
      const std::size_t rows = tile.rows / kElems * kElems;
      const std::size_t cols = tile.cols / kElems * kElems;
      if (tile.source_row != static_cast<std::ptrdiff_t>(sizeof(T))) {
        return move_all(tile);
      }
      if (cols == 0) return move_all(tile);
      if (tile.to_scratch) {
        // Down the columns: a line of the source is used up while it is in the cache, and the
        // same line of the next tile, too far away for the CPU to guess, is asked for.
        for (std::size_t col = 0; col < cols; col += kElems) {
          for (std::size_t row = 0; row < rows; row += kElems) {
            if (row * sizeof(T) % kLineBytes == 0) prefetch_next(tile, row, col);
            move_square(tile, row, col);
          }
        }
      } else {
        for (std::size_t row = 0; row < rows; row += kElems) {
          for (std::size_t col = 0; col < cols; col += kElems) move_square(tile, row, col);
        }
      }
      move_each(tile, 0, rows, cols, tile.cols);
      move_each(tile, rows, tile.rows, 0, tile.cols);
    }
  }
};

}  // namespace ashore
