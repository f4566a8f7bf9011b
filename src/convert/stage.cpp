// The staged cast: one loader and four storers for each dtype instead of a kernel for each pair.
#include "convert/stage.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "convert/element.hpp"
#include "core/assert.hpp"

namespace ashore {
namespace {

constexpr std::size_t kBlockElems = 256;

// Room for a block of any canonical type.
union Block {
  std::int64_t int64[kBlockElems];
  std::uint64_t uint64[kBlockElems];
  double float64[kBlockElems];
  long double longdouble[kBlockElems];
};

template <typename C>
C* values(Block& block) noexcept {
  if constexpr (std::is_same_v<C, std::int64_t>) return block.int64;
  if constexpr (std::is_same_v<C, std::uint64_t>) return block.uint64;
  if constexpr (std::is_same_v<C, double>) return block.float64;
  if constexpr (std::is_same_v<C, long double>) return block.longdouble;
}

// The canonical types, as an index into a dtype's storers.
template <typename C>
constexpr int kCanonicalIndex = std::is_same_v<C, std::int64_t>    ? 0
                                : std::is_same_v<C, std::uint64_t> ? 1
                                : std::is_same_v<C, double>        ? 2
                                                                   : 3;

template <typename Bits>
Bits read(const char* from, bool swapped) noexcept {
  Bits bits;
  if (!swapped) {
    std::memcpy(&bits, from, sizeof(bits));
    return bits;
  }
  unsigned char bytes[sizeof(bits)];
  std::reverse_copy(from, from + sizeof(bits), bytes);
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

template <typename Bits>
void write(Bits bits, char* to, bool swapped) noexcept {
  std::memcpy(to, &bits, sizeof(bits));
  if (swapped) std::reverse(to, to + sizeof(bits));
}

template <DType kType>
void load(const char* from, std::ptrdiff_t stride, std::size_t count, bool swapped, bool negate,
          Block& block) noexcept {
  using E = Element<kType>;
  auto* to = values<typename E::Canonical>(block);
  if (swapped && sizeof(typename E::Bits) > 1) {
    for (std::size_t i = 0; i < count; ++i, from += stride) {
      to[i] = E::decode(read<typename E::Bits>(from, true));
    }
  } else {
    for (std::size_t i = 0; i < count; ++i, from += stride) {
      to[i] = E::decode(read<typename E::Bits>(from, false));
    }
  }
  if (negate) {
    for (std::size_t i = 0; i < count; ++i) to[i] = E::negate(to[i]);
  }
}

template <DType kType, typename C>
void store(Block& block, char* to, std::ptrdiff_t stride, std::size_t count,
           bool swapped) noexcept {
  using E = Element<kType>;
  const C* from = values<C>(block);
  if (swapped && sizeof(typename E::Bits) > 1) {
    for (std::size_t i = 0; i < count; ++i, to += stride) write(E::encode(from[i]), to, true);
  } else {
    for (std::size_t i = 0; i < count; ++i, to += stride) write(E::encode(from[i]), to, false);
  }
}

using Load = void (*)(const char*, std::ptrdiff_t, std::size_t, bool, bool, Block&) noexcept;
using Store = void (*)(Block&, char*, std::ptrdiff_t, std::size_t, bool) noexcept;

struct Row {
  Load load;
  int canonical;   // index of the type that `load` gives
  Store store[4];  // by canonical type
};

template <DType kType>
constexpr Row make_row() {
  return {&load<kType>,
          kCanonicalIndex<typename Element<kType>::Canonical>,
          {&store<kType, std::int64_t>, &store<kType, std::uint64_t>, &store<kType, double>,
           &store<kType, long double>}};
}

template <std::size_t... kIndex>
constexpr auto make_rows(std::index_sequence<kIndex...>) {
  return std::array<Row, sizeof...(kIndex)>{make_row<static_cast<DType>(kIndex)>()...};
}

constexpr auto kRows = make_rows(std::make_index_sequence<kConvertibleCount>());

}  // namespace

void staged_cast(const CastJob& job, const Run& run) {
  ASHORE_ASSERT(is_convertible(job.from) && is_convertible(job.to));
  const Row& from = kRows[static_cast<std::size_t>(job.from)];
  const Store store = kRows[static_cast<std::size_t>(job.to)].store[from.canonical];
  const bool from_complex = is_complex(job.from);
  const bool to_complex = is_complex(job.to);
  const std::size_t source_part = size_bytes(part_dtype(job.from));
  const std::size_t destination_part = size_bytes(part_dtype(job.to));
  const bool negate_imaginary = job.transform.negate != job.transform.conjugate;

  Block block;
  const char* source = run.source;
  char* destination = run.destination;
  for (std::size_t left = run.count; left > 0;) {
    const std::size_t count = std::min(left, kBlockElems);
    from.load(source, run.source_stride, count, job.source_swapped, job.transform.negate, block);
    store(block, destination, run.destination_stride, count, job.destination_swapped);
    if (to_complex) {
      if (from_complex) {
        from.load(source + source_part, run.source_stride, count, job.source_swapped,
                  negate_imaginary, block);
      } else {
        std::memset(&block, 0, sizeof(block));  // zero, in every canonical type
      }
      store(block, destination + destination_part, run.destination_stride, count,
            job.destination_swapped);
    }
    source += static_cast<std::ptrdiff_t>(count) * run.source_stride;
    destination += static_cast<std::ptrdiff_t>(count) * run.destination_stride;
    left -= count;
  }
}

}  // namespace ashore
