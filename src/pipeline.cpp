// to_host, to_dlpack and convert_into: the stages in a row. The only file that knows all of them.
#include <ashore/to_host.hpp>

#include <new>
#include <string>

#include "convert/convert.hpp"
#include "core/checked.hpp"
#include "emit/dlpack.hpp"
#include "ingest/dlpack.hpp"

namespace ashore {
namespace {

// Carry out a plan that copies on the host.
Result<HostArray> copy_to_host(const SourceFacts& facts, const Plan& plan) {
  Layout layout;
  compact_layout(facts.view.layout, plan.order, static_cast<std::int64_t>(size_bytes(plan.to)),
                 layout);
  Result<HostArray> fresh = HostArray::allocate(plan.to, layout.view());
  if (!fresh.ok()) return fresh;
  ArrayView view = fresh->view();
  view.byte_swapped = plan.to_byte_swapped;
  Status status = convert(facts.view, view, {facts.conjugated, facts.negated});
  if (!status.ok()) return status;
  return HostArray(view, fresh->owner());
}

// An array of no elements: its shape and strides as they are, no memory of the producer.
Result<HostArray> keep_empty(const SourceFacts& facts, const Plan& plan) {
  ArrayView view = facts.view;
  view.data = nullptr;
  view.read_only = plan.read_only;
  return HostArray(view, nullptr);
}

template <typename Managed>
Result<HostArray> bring_ashore(Managed* tensor, const Options& options) {
  Result<ingest::Source> source = ingest::take(tensor);
  if (!source.ok()) return source.take_status();
  const SourceFacts& facts = source->facts();
  Result<Plan> plan = make_plan(facts, options, kNumPyTarget);
  if (!plan.ok()) return plan.take_status();
  if (plan->path == Path::kFramework) {
    return Status(Code::kUnreachable,
                  "memory on " + ingest::device_name(source->device()) +
                      " cannot be reached from here; copy the tensor to the host "
                      "in the framework that owns it first");
  }
  if (plan->path != Path::kShare) return copy_to_host(facts, *plan);
  if (count_elems(facts.view.layout) == 0) return keep_empty(facts, *plan);
  ArrayView view = facts.view;
  view.read_only = plan->read_only;
  return HostArray(view, std::shared_ptr<void>(source->release()));
}

template <typename Function>
Result<HostArray> without_exceptions(Function function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {  // of a message or of a reference count
    return Status(Code::kNoMemory, "out of memory; free some");
  }
}

// A view comes from a caller: check what the stages take for granted.
Status check_layout(const ArrayView& view, const char* which) {
  const LayoutView layout = view.layout;
  if (layout.ndim < 0 || layout.ndim > kMaxDims) {
    return Status(Code::kInvalid, std::string(which) + " has " + std::to_string(layout.ndim) +
                                      " dimensions; 0 to " + std::to_string(kMaxDims) +
                                      " are allowed");
  }
  Extent extent;
  if (!measure_extent(layout, static_cast<std::int64_t>(size_bytes(view.dtype)), extent)) {
    return Status(
        Code::kInvalid,
        std::string(which) +
            " has a negative length, or reaches past what 63 bits count; check its layout");
  }
  if (view.data == nullptr && extent.count > 0) {
    return Status(Code::kInvalid, std::string(which) + " has " + std::to_string(extent.count) +
                                      " elements but no memory (null data); pass its address");
  }
  return {};
}

}  // namespace

Result<HostArray> to_host(ArrayView source, const Options& options) {
  return without_exceptions([&]() -> Result<HostArray> {
    Status status = check_layout(source, "source");
    if (!status.ok()) return status;
    if (options.copy == Copy::kNever) {
      return Status(Code::kInvalid,
                    "copy=False, but a view keeps nothing alive, so it needs a copy; pass "
                    "Copy::kIfNeeded or use a HostArray");
    }
    SourceFacts facts;
    facts.view = source;
    Options always = options;
    always.copy = Copy::kAlways;
    Result<Plan> plan = make_plan(facts, always, kNumPyTarget);
    if (!plan.ok()) return plan.take_status();
    return copy_to_host(facts, *plan);
  });
}

Result<HostArray> to_host(dlpack::ManagedTensorVersioned* tensor, const Options& options) {
  return without_exceptions([&] { return bring_ashore(tensor, options); });
}

Result<HostArray> to_host(dlpack::ManagedTensor* tensor, const Options& options) {
  return without_exceptions([&] { return bring_ashore(tensor, options); });
}

Result<dlpack::ManagedTensorVersioned*> to_dlpack(const HostArray& array) {
  return emit::wrap_dlpack(array);
}

Status convert_into(ArrayView source, ArrayView destination) {
  Status status = check_layout(source, "source");
  if (status.ok()) status = check_layout(destination, "destination");
  if (status.ok()) status = convert(source, destination);
  return status;
}

}  // namespace ashore
