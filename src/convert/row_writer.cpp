// The choice between copy, swap and cast.
#include "convert/row_writer.hpp"

#include <bit>
#include <cstring>

#include "convert/stage.hpp"

namespace ashore {

RowWriter::RowWriter(const CastJob& job) noexcept
    : job_(job), from_item_(size_bytes(job.from)), to_item_(size_bytes(job.to)) {
  if (job.from != job.to || job.transform.conjugate || job.transform.negate) {
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
