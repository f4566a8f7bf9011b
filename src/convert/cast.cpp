// The table of cast kernels, one entry for each pair of dtypes; convert looks kernels up here.
#include "convert/cast.hpp"

#include <array>

#include "convert/element.hpp"
#include "convert/stage.hpp"

namespace ashore {
namespace {

using Row = std::array<CastKernel, kConvertibleCount>;
using Table = std::array<Row, kConvertibleCount>;

// Every entry starts as the staged kernel, which knows all pairs. A faster kernel for one pair goes
// in at the end of this function; it may leave swapped bytes and transforms to the staged one
// (find_cast).
constexpr Table make_table() {
  constexpr auto is_complex_index = [](std::size_t index) {
    return index >= static_cast<std::size_t>(DType::kComplex32) &&
           index <= static_cast<std::size_t>(DType::kComplexLongDouble);
  };
  Table table{};
  for (std::size_t from = 0; from < kConvertibleCount; ++from) {
    for (std::size_t to = 0; to < kConvertibleCount; ++to) {
      const bool loses_imaginary_part = is_complex_index(from) && !is_complex_index(to);
      table[from][to] = loses_imaginary_part ? nullptr : &staged_cast;
    }
  }
  return table;
}

constexpr Table kTable = make_table();

}  // namespace

CastKernel find_cast(const CastJob& job) noexcept {
  if (!is_convertible(job.from) || !is_convertible(job.to)) return nullptr;
  const CastKernel kernel =
      kTable[static_cast<std::size_t>(job.from)][static_cast<std::size_t>(job.to)];
  const bool plain = !job.source_swapped && !job.destination_swapped && !job.transform.conjugate &&
                     !job.transform.negate;
  return plain || kernel == nullptr ? kernel : &staged_cast;
}

bool cast_exists(DType from, DType to) noexcept { return find_cast({from, to}) != nullptr; }

}  // namespace ashore
