// convert: checks both sides, then walks them with a copy or cast kernel. Called from all over.
#include "convert/convert.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "convert/cast.hpp"
#include "convert/move.hpp"
#include "convert/row_writer.hpp"
#include "convert/threading.hpp"
#include "convert/walk.hpp"
#include "host/cpu_features.hpp"
#include "host/memory.hpp"
#include "host/parallel_for.hpp"

namespace ashore {
namespace {

std::string shape_text(LayoutView layout) {
  std::string text = "(";
  for (int axis = 0; axis < layout.ndim; ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(layout.shape[axis]);
  }
  return text + ")";
}

bool same_shape(LayoutView a, LayoutView b) noexcept {
  if (a.ndim != b.ndim) return false;
  for (int axis = 0; axis < a.ndim; ++axis) {
    if (a.shape[axis] != b.shape[axis]) return false;
  }
  return true;
}

bool same_strides(LayoutView a, LayoutView b) noexcept {
  for (int axis = 0; axis < a.ndim; ++axis) {
    if (a.shape[axis] > 1 && a.strides_bytes[axis] != b.strides_bytes[axis]) return false;
  }
  return true;
}

Status check(const ArrayView& source, const ArrayView& destination) {
  if (!cast_exists(source.dtype, destination.dtype)) {
    return Status(Code::kUnsupported,
                  "no cast from " + std::string(name(source.dtype)) + " to " +
                      std::string(name(destination.dtype)) +
                      (is_complex(source.dtype) && is_convertible(destination.dtype)
                           ? ": the imaginary part would be lost; take .real or abs() first"
                           : "; cast it in its own library first"));
  }
  if (!same_shape(source.layout, destination.layout)) {
    return Status(Code::kInvalid, "source has shape " + shape_text(source.layout) +
                                      ", destination " + shape_text(destination.layout) +
                                      "; they must be the same: broadcast or reshape one of them");
  }
  if (destination.read_only) {
    return Status(Code::kInvalid, "destination is read-only; pass an array that may be written");
  }
  return {};
}

// The bytes that an array with elements covers, as addresses.
struct Span {
  std::uintptr_t begin;
  std::uintptr_t end;
};

Span span_of(const ArrayView& view) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(view.data);
  Span span{first, first + size_bytes(view.dtype)};
  for (int axis = 0; axis < view.layout.ndim; ++axis) {
    const std::int64_t reach = (view.layout.shape[axis] - 1) * view.layout.strides_bytes[axis];
    (reach < 0 ? span.begin : span.end) += static_cast<std::uintptr_t>(reach);
  }
  return span;
}

bool is_swapped(const ArrayView& view) noexcept {
  return view.byte_swapped && size_bytes(part_dtype(view.dtype)) > 1;
}

// Write elements that lie compact on both sides, threads taking pieces.
void convert_compact(const RowWriter& writer, const char* source, char* destination,
                     std::size_t count) {
  const std::size_t item_bytes = writer.from_item() + writer.to_item();
  if (!pays_for_threads(count * item_bytes)) {
    writer.write(source, destination, count);
    writer.finish();
    return;
  }
  // Pieces begin on cache lines, large ones on huge pages of the destination: two threads that
  // touch the same fresh page for the first time would both clear it.
  const std::size_t most = piece_bytes(count * item_bytes) / item_bytes * writer.to_item();
  const std::size_t unit = most >= host::kHugePageBytes / 2 ? host::kHugePageBytes : 4096;
  const std::size_t grain = std::max(most / unit * unit, unit) / writer.to_item();
  const std::size_t past = reinterpret_cast<std::uintptr_t>(destination) % unit / writer.to_item();
  host::parallel_for(past + count, grain, [&](std::size_t begin, std::size_t end) {
    begin = std::max(begin, past) - past;
    end = std::max(end, past) - past;
    if (begin == end) return;
    writer.write(source + begin * writer.from_item(), destination + begin * writer.to_item(),
                 end - begin);
    writer.finish();
  });
}

// Walk run by run where the destination's elements are apart, threads taking slices of the slowest
// axis if there are bytes to share.
void convert_runs(const RowWriter& writer, const Walk& walk, const void* source, void* destination,
                  std::size_t shared_bytes) {
  const auto step = [](const void* context, const Run& run) {
    static_cast<const RowWriter*>(context)->write_run(run);
  };
  if (walk.empty || walk.ndim == 0 || shared_bytes == 0) {
    walk_runs(walk, source, destination, step, &writer);
    return;
  }
  const auto length = static_cast<std::size_t>(walk.shape[0]);
  const std::size_t grain =
      std::max<std::size_t>(1, length * piece_bytes(shared_bytes) / shared_bytes);
  host::parallel_for(length, grain, [&](std::size_t begin, std::size_t end) {
    Walk part = walk;
    part.shape[0] = static_cast<std::int64_t>(end - begin);
    part.source_offset += static_cast<std::int64_t>(begin) * walk.source_strides[0];
    part.destination_offset += static_cast<std::int64_t>(begin) * walk.destination_strides[0];
    walk_runs(part, source, destination, step, &writer);
  });
}

// Say whether what is written goes past the caches: into large memory that is in use already, so
// that the CPU need not fetch its lines first. Casts that read more than they write gain nothing.
bool pays_to_stream(const CastJob& job, std::size_t count, Memory memory) noexcept {
  constexpr std::size_t kStreamedBytes = std::size_t{16} << 20;
  const std::size_t to_item = size_bytes(job.to);
  if (memory == Memory::kPassed) return true;
  return memory == Memory::kReused && size_bytes(job.from) <= to_item &&
         count * to_item >= kStreamedBytes;
}

// What is done with two layouts: one compact run, or a move over a walk.
struct Route {
  bool is_compact;
  std::size_t shared_bytes;  // read and written, if threads shall share them, else 0
  Walk walk;
  Move move;
};

// Choose it for two arrays that do not overlap. Row-major ones, the usual case, are not looked at
// any further.
bool is_compact_pair(const RowWriter& writer, LayoutView source, LayoutView destination) noexcept {
  return is_row_major(source, static_cast<std::int64_t>(writer.from_item())) &&
         is_row_major(destination, static_cast<std::int64_t>(writer.to_item()));
}

void choose_route(const RowWriter& writer, LayoutView source, LayoutView destination,
                  Route& route) noexcept {
  const auto from_step = static_cast<std::int64_t>(writer.from_item());
  const auto to_step = static_cast<std::int64_t>(writer.to_item());
  const std::size_t bytes =
      static_cast<std::size_t>(count_elems(source)) * (writer.from_item() + writer.to_item());
  plan_walk(source, destination, route.walk);
  route.is_compact = route.walk.ndim == 1 && route.walk.source_strides[0] == from_step &&
                     route.walk.destination_strides[0] == to_step;
  if (route.is_compact) return;
  // Threads must not write to the same place.
  const bool alone = !pays_for_threads(bytes) || has_internal_overlap(destination, to_step);
  route.shared_bytes = alone ? 0 : bytes;
  choose_move(route.walk, writer, route.move);
}

// Convert between arrays that do not overlap and were checked.
void convert_disjoint(const ArrayView& source, const ArrayView& destination, const CastJob& job,
                      Memory memory) {
  const auto* const from = static_cast<const char*>(source.data);
  auto* const to = static_cast<char*>(destination.data);
  const auto count = static_cast<std::size_t>(count_elems(source.layout));
  const RowWriter writer(job, pays_to_stream(job, count, memory));
  if (is_compact_pair(writer, source.layout, destination.layout)) {
    convert_compact(writer, from, to, count);
    return;
  }
  Route route;
  choose_route(writer, source.layout, destination.layout, route);
  if (route.is_compact) {
    convert_compact(writer, from + route.walk.source_offset, to + route.walk.destination_offset,
                    count);
  } else if (route.move.pattern == Pattern::kScattered) {
    convert_runs(writer, route.walk, from, to, route.shared_bytes);
  } else {
    carry_out(route.move, writer, from, to, route.shared_bytes);
  }
}

CastJob make_job(const ArrayView& source, const ArrayView& destination,
                 Transform transform) noexcept {
  CastJob job{source.dtype, destination.dtype, is_swapped(source), is_swapped(destination),
              transform};
  job.transform.conjugate = transform.conjugate && is_complex(source.dtype);
  return job;
}

}  // namespace

Status convert(ArrayView source, ArrayView destination, Transform transform, Memory memory) {
  Status status = check(source, destination);
  if (!status.ok()) return status;
  if (count_elems(source.layout) == 0) return {};
  const Status& simd = host::simd_status();
  if (!simd.ok()) return Status(simd.code(), simd.message());
  if (source.data == nullptr || destination.data == nullptr) {
    return Status(Code::kInvalid, "null data behind an array of shape " +
                                      shape_text(source.layout) + "; pass one that has memory");
  }
  const Span from = span_of(source);
  const Span to = span_of(destination);
  const CastJob job = make_job(source, destination, transform);
  if (from.end <= to.begin || to.end <= from.begin) {
    convert_disjoint(source, destination, job, memory);
    return {};
  }

  const bool same_dtype = job.from == job.to && job.source_swapped == job.destination_swapped;
  if (same_dtype && source.data == destination.data &&
      same_strides(source.layout, destination.layout) && !job.transform.conjugate &&
      !job.transform.negate) {
    return {};  // every element is where it belongs
  }
  // They overlap: copy the source first, byte for byte.
  Layout layout;
  const std::size_t item_bytes = size_bytes(source.dtype);
  compact_layout(source.layout, Order::kKeep, static_cast<std::int64_t>(item_bytes), layout);
  Result<host::Buffer> buffer =
      host::allocate(static_cast<std::size_t>(count_elems(source.layout)) * item_bytes);
  if (!buffer.ok()) return buffer.take_status();
  ArrayView copy = source;
  copy.data = buffer->get();
  copy.layout = layout.view();
  convert_disjoint(source, copy, {source.dtype, source.dtype}, Memory::kFresh);
  convert_disjoint(copy, destination, job, memory);
  return {};
}

std::string describe_kernels(const ArrayView& source, const ArrayView& destination,
                             Transform transform) {
  const CastJob job = make_job(source, destination, transform);
  if (!cast_exists(job.from, job.to) || count_elems(source.layout) == 0) return "none";
  const RowWriter writer(job);
  std::string text = "compact";
  std::size_t bytes = static_cast<std::size_t>(count_elems(source.layout)) *
                      (writer.from_item() + writer.to_item());
  if (!is_compact_pair(writer, source.layout, destination.layout)) {
    Route route;
    choose_route(writer, source.layout, destination.layout, route);
    if (!route.is_compact) {
      text = name(route.move.pattern);
      bytes = route.shared_bytes;
    }
  }
  text += std::string(" ") + writer.work();
  text += ", " + std::string(host::name(host::simd_level()));
  if (pays_for_threads(bytes)) text += ", " + std::to_string(num_threads()) + " threads";
  return text;
}

}  // namespace ashore
