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

/// A vector of the compiler, of kBytes bytes.
template <typename T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));  // NOLINT(modernize-use-using)
};

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
      for (std::size_t col = first_col; col < col_end; ++col) {
        write<T>(to, col, read<T>(from + static_cast<std::ptrdiff_t>(col) * tile.source_col, 0));
      }
    }
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
      move_each(tile, 0, tile.rows, 0, tile.cols);
    } else {
      constexpr std::size_t kElems = kSquareElems;
      const std::size_t rows = tile.rows / kElems * kElems;
      const std::size_t cols = tile.cols / kElems * kElems;
      if (tile.source_row != static_cast<std::ptrdiff_t>(sizeof(T))) {
        return move_each(tile, 0, tile.rows, 0, tile.cols);
      }
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
