// to_host, to_dlpack and convert_into: the stages in a row. The only file that knows all of them.
#include <ashore/to_host.hpp>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "convert/convert.hpp"
#include "core/checked.hpp"
#include "emit/dlpack.hpp"
#include "ingest/dlpack.hpp"

namespace ashore {
namespace {

// A view of one zero as every element: what a zero tensor without storage is read from.
ArrayView view_of_zeros(ArrayView view, Layout& layout) {
  alignas(16) static char zero[32];  // as large as the largest element; never written
  layout = Layout(view.layout);
  std::fill_n(layout.strides_bytes, layout.ndim, 0);
  view.data = zero;
  view.layout = layout.view();
  return view;
}

// Carry out a plan that copies on the host.
Result<HostArray> copy_to_host(const SourceFacts& facts, const Plan& plan) {
  Layout layout;
  compact_layout(facts.view.layout, plan.order, static_cast<std::int64_t>(size_bytes(plan.to)),
                 layout);
  Result<HostArray> fresh = HostArray::allocate(plan.to, layout.view());
  if (!fresh.ok()) return fresh;
  ArrayView view = fresh->view();
  view.byte_swapped = plan.to_byte_swapped;
  Layout zero_layout;
  const ArrayView source = facts.zeros ? view_of_zeros(facts.view, zero_layout) : facts.view;
  Status status = convert(source, view, {facts.conjugated, facts.negated});
  if (!status.ok()) return status;
  return HostArray(view, fresh->owner());
}

// Carry out a plan that shares. Of an array without elements its shape and strides are kept, not
// its memory.
Result<HostArray> share(const SourceFacts& facts, const Plan& plan, std::shared_ptr<void> owner) {
  ArrayView view = facts.view;
  view.read_only = plan.read_only;
  if (count_elems(view.layout) > 0) return HostArray(view, std::move(owner));
  view.data = nullptr;
  return HostArray(view, nullptr);
}

Status refuse_device(const std::string& device) {
  return Status(Code::kUnreachable, "memory on " + device +
                                        " cannot be reached from here; copy the tensor to the host "
                                        "in the framework that owns it first");
}

template <typename Managed>
Result<HostArray> bring_ashore(Managed* tensor, const Options& options) {
  Result<ingest::Source> source = ingest::take(tensor);
  if (!source.ok()) return source.take_status();
  const SourceFacts& facts = source->facts();
  Result<Plan> plan = make_plan(facts, options, kNumPyTarget);
  if (!plan.ok()) return plan.take_status();
  if (plan->path == Path::kFramework) return refuse_device(ingest::device_name(source->device()));
  if (plan->path != Path::kShare) return copy_to_host(facts, *plan);
  return share(facts, *plan, source->release());
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
Status check_view(const ArrayView& view, const char* which, bool has_memory = true) {
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
  if (has_memory && view.data == nullptr && extent.count > 0) {
    return Status(Code::kInvalid, std::string(which) + " has " + std::to_string(extent.count) +
                                      " elements but no memory (null data); pass its address");
  }
  return {};
}

}  // namespace

Result<HostArray> to_host(ArrayView source, const Options& options) {
  SourceFacts facts;
  facts.view = source;
  return to_host(facts, nullptr, options);
}

Result<HostArray> to_host(const SourceFacts& source, std::shared_ptr<void> owner,
                          const Options& options) {
  return without_exceptions([&]() -> Result<HostArray> {
    Status status = check_view(source.view, "source", !source.zeros && !source.on_device);
    if (!status.ok()) return status;
    Options chosen = options;
    if (owner == nullptr && !source.on_device && count_elems(source.view.layout) > 0) {
      if (options.copy == Copy::kNever) {
        return Status(Code::kInvalid,
                      "copy=False, but a view keeps nothing alive, so it needs a copy; pass "
                      "Copy::kIfNeeded or use a HostArray");
      }
      chosen.copy = Copy::kAlways;
    }
    Result<Plan> plan = make_plan(source, chosen, kNumPyTarget);
    if (!plan.ok()) return plan.take_status();
    if (plan->path == Path::kFramework) return refuse_device("a device");
    if (plan->path != Path::kShare) return copy_to_host(source, *plan);
    return share(source, *plan, std::move(owner));
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
  Status status = check_view(source, "source");
  if (status.ok()) status = check_view(destination, "destination");
  if (status.ok()) status = convert(source, destination, {}, Memory::kReused);
  return status;
}

}  // namespace ashore
