// convert: checks both sides, then walks them with a copy or cast kernel. Called from all over.
#include "convert/convert.hpp"

#include <cstring>
#include <string>

#include "convert/cast.hpp"
#include "convert/copy_run.hpp"
#include "convert/walk.hpp"
#include "host/memory.hpp"

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

// A copy kernel seen as a step of the walk, and a cast kernel.
void step_copy(const void* kernel, const Run& run) {
  (*static_cast<const CopyKernel*>(kernel))(run);
}

struct Cast {
  CastJob job;
  CastKernel kernel;
};

void step_cast(const void* context, const Run& run) {
  const Cast& cast = *static_cast<const Cast*>(context);
  cast.kernel(cast.job, run);
}

// Walk both arrays, which do not overlap and were checked.
void convert_disjoint(const ArrayView& source, const ArrayView& destination, const CastJob& job) {
  const std::size_t source_item = size_bytes(job.from);
  const std::size_t destination_item = size_bytes(job.to);
  const bool copies = job.from == job.to && !job.transform.conjugate && !job.transform.negate;
  const CopyKernel copy = copies ? find_copy(source_item, size_bytes(part_dtype(job.from)),
                                             job.source_swapped != job.destination_swapped)
                                 : nullptr;
  const Cast cast{job, copies ? nullptr : find_cast(job)};
  const auto step = copies ? &step_copy : &step_cast;
  const void* context = copies ? static_cast<const void*>(&copy) : static_cast<const void*>(&cast);

  const auto source_step = static_cast<std::int64_t>(source_item);
  const auto destination_step = static_cast<std::int64_t>(destination_item);
  if (is_row_major(source.layout, source_step) &&
      is_row_major(destination.layout, destination_step)) {
    step(context,
         {static_cast<const char*>(source.data), source_step, static_cast<char*>(destination.data),
          destination_step, static_cast<std::size_t>(count_elems(source.layout))});
    return;
  }
  Walk walk;
  plan_walk(source.layout, destination.layout, walk);
  walk_runs(walk, source.data, destination.data, step, context);
}

}  // namespace

Status convert(ArrayView source, ArrayView destination, Transform transform) {
  Status status = check(source, destination);
  if (!status.ok()) return status;
  if (count_elems(source.layout) == 0) return {};
  if (source.data == nullptr || destination.data == nullptr) {
    return Status(Code::kInvalid, "null data behind an array of shape " +
                                      shape_text(source.layout) + "; pass one that has memory");
  }
  const Span from = span_of(source);
  const Span to = span_of(destination);
  CastJob job{source.dtype, destination.dtype, is_swapped(source), is_swapped(destination),
              transform};
  job.transform.conjugate = transform.conjugate && is_complex(source.dtype);
  if (from.end <= to.begin || to.end <= from.begin) {
    convert_disjoint(source, destination, job);
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
  convert_disjoint(source, copy, {source.dtype, source.dtype});
  convert_disjoint(copy, destination, job);
  return {};
}

}  // namespace ashore
