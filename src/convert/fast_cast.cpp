// The fast cast: from the source's dtype to its hub, and from the hub to the destination's dtype.
//
// Where the source or the destination is of the hub's own type, one kernel goes straight from array
// to array; else the numbers pass through a block that stays in the first-level cache. Either way
// the arrays themselves are read and written once.
#include "convert/fast_cast.hpp"

#include <algorithm>
#include <cstring>

#include "convert/copy_run.hpp"
#include "convert/kernels.hpp"
#include "core/assert.hpp"

namespace ashore {
namespace {

constexpr std::size_t kBlockElems = 512;
constexpr std::size_t kHubBytes = 8;    // of the widest hub
constexpr std::size_t kItemBytes = 16;  // of the widest element that has a hub (complex128)

Hub hub_of(DType part) noexcept {
  switch (part) {
    case DType::kUInt32:
    case DType::kInt64:
      return Hub::kInt64;
    case DType::kUInt64:
      return Hub::kUInt64;
    case DType::kFloat64:
      return Hub::kDouble;
    case DType::kLongDouble:
      return Hub::kNone;
    default:
      return info(part).kind == DTypeKind::kFloat ? Hub::kFloat : Hub::kInt32;
  }
}

DType dtype_of(Hub hub) noexcept {
  switch (hub) {
    case Hub::kInt32:
      return DType::kInt32;
    case Hub::kInt64:
      return DType::kInt64;
    case Hub::kUInt64:
      return DType::kUInt64;
    case Hub::kFloat:
      return DType::kFloat32;
    case Hub::kDouble:
    case Hub::kNone:
      break;
  }
  return DType::kFloat64;
}

// The kernels of a pair, in their order; null ones have nothing to do.
struct Chain {
  std::size_t hub_bytes;
  RowKernel load;   // into the source's hub; none where the source is of that type
  RowKernel round;  // from the hub to float, on the way to a small format
  RowKernel store;  // into the destination's dtype; none where that is the hub's type
};

Chain find_chain(DType from, DType to) noexcept {
  const CastKernels& casts = kernels().casts;
  const RowKernel direct =
      casts.direct[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  if (direct != nullptr) return {0, direct, nullptr, nullptr};
  const DType part = part_dtype(from);
  const Hub hub = hub_of(part);
  const DType hub_dtype = dtype_of(hub);
  const auto store = [&casts](Hub from_hub, DType dtype) {
    return casts.store[static_cast<int>(from_hub)][static_cast<std::size_t>(dtype)];
  };
  Chain chain{size_bytes(hub_dtype), nullptr, nullptr, nullptr};
  if (part != hub_dtype) chain.load = casts.load[static_cast<std::size_t>(part)];
  if (part_dtype(to) == hub_dtype) return chain;
  chain.store = store(hub, to);  // complex32's parts are no float16: each has its own entry
  if (chain.store != nullptr) return chain;
  chain.round = store(hub, DType::kFloat32);
  chain.store = store(Hub::kFloat, to);
  return chain;
}

bool is_copy(const Chain& chain) noexcept {
  return chain.load == nullptr && chain.round == nullptr && chain.store == nullptr;
}

// A block of numbers between two kernels.
struct Block {
  alignas(64) char bytes[kBlockElems * kHubBytes];
};

// From a block of the hub's type, or an array of it, to the destination.
void store_row(const Chain& chain, const char* numbers, char* destination, std::size_t count,
               Block& rounded) noexcept {
  if (chain.round != nullptr) {
    chain.round(numbers, rounded.bytes, count);
    chain.store(rounded.bytes, destination, count);
  } else if (chain.store != nullptr) {
    chain.store(numbers, destination, count);
  } else {
    std::memcpy(destination, numbers, count * chain.hub_bytes);
  }
}

// Cast parts that lie one after the other on both sides.
void cast_row(const Chain& chain, std::size_t from_part, std::size_t to_part, const char* source,
              char* destination, std::size_t count) noexcept {
  if (chain.round == nullptr && (chain.load == nullptr || chain.store == nullptr)) {
    const RowKernel only = chain.load != nullptr ? chain.load : chain.store;
    if (only != nullptr) {
      only(source, destination, count);
    } else {
      std::memcpy(destination, source, count * from_part);
    }
    return;
  }
  Block hub, rounded;
  for (; count > 0; count -= std::min(count, kBlockElems)) {
    const std::size_t block = std::min(count, kBlockElems);
    const char* numbers = source;
    if (chain.load != nullptr) {
      chain.load(source, hub.bytes, block);
      numbers = hub.bytes;
    }
    store_row(chain, numbers, destination, block, rounded);
    source += block * from_part;
    destination += block * to_part;
  }
}

// Cast real numbers that lie one after the other to complex ones that do: the real parts into a
// block, zeros between them from there.
void cast_to_complex(const Chain& chain, std::size_t from_part, std::size_t to_part,
                     const char* source, char* destination, std::size_t count) noexcept {
  const RowKernel add_zeros = kernels().zeros.behind(to_part);
  if (is_copy(chain)) return add_zeros(source, destination, count);
  Block parts;
  for (; count > 0; count -= std::min(count, kBlockElems)) {
    const std::size_t block = std::min(count, kBlockElems);
    cast_row(chain, from_part, to_part, source, parts.bytes, block);
    add_zeros(parts.bytes, destination, block);
    source += block * from_part;
    destination += 2 * block * to_part;
  }
}

}  // namespace

bool fast_cast_exists(DType from, DType to) noexcept {
  return is_convertible(from) && is_convertible(to) && hub_of(part_dtype(from)) != Hub::kNone &&
         hub_of(part_dtype(to)) != Hub::kNone && (is_complex(to) || !is_complex(from));
}

void fast_cast(const CastJob& job, const Run& run) {
  ASHORE_ASSERT(fast_cast_exists(job.from, job.to));
  // Both are asked for by part, except the formats whose parts are no dtype of their own.
  const bool adds_parts = is_complex(job.to) && !is_complex(job.from);
  const bool by_part = adds_parts && size_bytes(job.to) >= size_bytes(DType::kComplex64);
  const Chain chain = find_chain(job.from, by_part ? part_dtype(job.to) : job.to);
  const std::size_t from_part = size_bytes(part_dtype(job.from));
  const std::size_t to_part = size_bytes(part_dtype(job.to));
  const std::size_t from_item = size_bytes(job.from);
  const std::size_t to_item = size_bytes(job.to);
  const std::size_t parts = is_complex(job.from) ? 2 : 1;
  const auto cast = [&](const char* source, char* destination, std::size_t count) {
    if (adds_parts) {
      cast_to_complex(chain, from_part, to_part, source, destination, count);
    } else {
      cast_row(chain, from_part, to_part, source, destination, parts * count);
    }
  };
  const auto from_step = static_cast<std::ptrdiff_t>(from_item);
  const auto to_step = static_cast<std::ptrdiff_t>(to_item);
  if (run.source_stride == from_step && run.destination_stride == to_step) {
    cast(run.source, run.destination, run.count);
    return;
  }
  // Gather and scatter by blocks.
  const CopyKernel gather = find_copy(from_item, from_item, false);
  const CopyKernel scatter = find_copy(to_item, to_item, false);
  alignas(64) char gathered[kBlockElems * kItemBytes];
  alignas(64) char converted[kBlockElems * kItemBytes];
  const char* source = run.source;
  char* destination = run.destination;
  for (std::size_t left = run.count; left > 0;) {
    const std::size_t count = std::min(left, kBlockElems);
    const bool gathers = run.source_stride != from_step;
    const bool scatters = run.destination_stride != to_step;
    if (gathers) gather({source, run.source_stride, gathered, from_step, count});
    cast(gathers ? gathered : source, scatters ? converted : destination, count);
    if (scatters) scatter({converted, to_step, destination, run.destination_stride, count});
    source += static_cast<std::ptrdiff_t>(count) * run.source_stride;
    destination += static_cast<std::ptrdiff_t>(count) * run.destination_stride;
    left -= count;
  }
}

}  // namespace ashore
