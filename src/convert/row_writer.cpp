// The choice between copy, swap and cast.
#include "convert/row_writer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "convert/stage.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ashore {
namespace {

constexpr std::size_t kLineBytes = 64;
// Bytes that are cast into the first-level cache, then streamed from there.
constexpr std::size_t kStreamBytes = 4096;
// Fewer bytes are not worth it.
constexpr std::size_t kLeastStreamed = 256;

// Say whether the values of one dtype are the bits of the other: integers of one width wrap.
bool has_same_bits(DType a, DType b) noexcept {
  const auto is_integer = [](DType dtype) {
    const DTypeInfo& facts = info(dtype);
    return (facts.kind == DTypeKind::kInt || facts.kind == DTypeKind::kUInt) &&
           facts.bits == 8 * facts.size_bytes;
  };
  return a == b || (size_bytes(a) == size_bytes(b) && is_integer(a) && is_integer(b));
}

}  // namespace

RowWriter::RowWriter(const CastJob& job, bool streams) noexcept
    : job_(job), from_item_(size_bytes(job.from)), to_item_(size_bytes(job.to)), streams_(streams) {
  if (!has_same_bits(job.from, job.to) || job.transform.conjugate || job.transform.negate) {
    cast_ = find_cast(job);
  } else if (job.source_swapped != job.destination_swapped) {
    const std::size_t part = size_bytes(part_dtype(job.from));
    copy_ = find_copy(from_item_, part, true);
    parts_ = from_item_ / part;
    const int index = std::countr_zero(part) - 1;
    if (index >= 0 && index < kSwapCount) swap_ = kernels().swaps[index];
  }
}

const char* RowWriter::work() const noexcept {
  if (copy_ != nullptr) return "swap";
  if (cast_ == nullptr) return "copy";
  return cast_ == &staged_cast ? "staged cast" : "cast";
}

void RowWriter::write(const char* source, char* destination, std::size_t count) const {
  if (streams_ && count * to_item_ >= kLeastStreamed) {
    write_streamed(source, destination, count);
  } else {
    write_cached(source, destination, count);
  }
}

void RowWriter::write_streamed(const char* source, char* destination, std::size_t count) const {
  // Up to the first cache line of the destination, then whole lines, then what is left.
  const std::size_t past = reinterpret_cast<std::uintptr_t>(destination) % kLineBytes;
  const std::size_t head = (kLineBytes - past) % kLineBytes / to_item_;
  if (past % to_item_ != 0) {  // no element begins on a line
    write_cached(source, destination, count);
    return;
  }
  if (head > 0) {
    write_cached(source, destination, head);
    source += head * from_item_;
    destination += head * to_item_;
  }
  const std::size_t line_elems = kLineBytes / to_item_;
  std::size_t left = (count - head) / line_elems * line_elems;
  const std::size_t tail = count - head - left;
  const RowKernel stream = kernels().stream;
  if (is_copy()) {
    stream(source, destination, left * to_item_);
    source += left * from_item_;
    destination += left * to_item_;
  } else {
    alignas(kLineBytes) char block[kStreamBytes];
    while (left > 0) {
      const std::size_t elems = std::min(left, kStreamBytes / to_item_);
      write_cached(source, block, elems);
      stream(block, destination, elems * to_item_);
      source += elems * from_item_;
      destination += elems * to_item_;
      left -= elems;
    }
  }
  if (tail > 0) write_cached(source, destination, tail);
}

void RowWriter::finish() const noexcept {
#if defined(__x86_64__)
  if (streams_) _mm_sfence();
#endif
}

void RowWriter::write_cached(const char* source, char* destination, std::size_t count) const {
  if (is_copy()) {
    std::memcpy(destination, source, count * from_item_);
    return;
  }
  if (swap_ != nullptr) {
    swap_(source, destination, count * parts_);
    return;
  }
  write_run({source, static_cast<std::ptrdiff_t>(from_item_), destination,
             static_cast<std::ptrdiff_t>(to_item_), count});
}

void RowWriter::write_run(const Run& run) const {
  if (cast_ != nullptr) {
    cast_(job_, run);
  } else {
    (copy_ != nullptr ? copy_ : find_copy(from_item_, from_item_, false))(run);
  }
}

}  // namespace ashore
