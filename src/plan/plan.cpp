// Decides what happens to one array before anything moves. Called by the pipeline and the bindings.
#include <ashore/plan.hpp>

namespace ashore {
namespace {

// Contract rules C1 to C6, T3, N3 and N11 in the order in which they matter to a reader of the
// message.
struct ReasonText {
  Reason reason;
  const char* text;
};

constexpr ReasonText kTexts[] = {
    {kDevice, "memory on a device"},
    {kNoStorage, "a zero tensor without storage"},
    {kCast, "another dtype"},
    {kByteOrder, "another byte order"},
    {kConjugate, "a conj bit to resolve"},
    {kNegate, "a neg bit to resolve"},
    {kReorder, "another order of axes"},
    {kReadOnlySource, "read-only memory"},
    {kStrides, "a layout with negative strides or strides of no whole elements"},
    {kAlignment, "unaligned memory"},
    {kAsked, "copy=True"},
};

Status refuse_dtype(DType dtype) {
  return Status(Code::kUnsupported, "dtype " + std::string(name(dtype)) +
                                        " has no NumPy twin and no conversion; cast it in its own "
                                        "library first (dequantize or widen it)");
}

Status refuse_complex(DType from, DType to) {
  return Status(Code::kUnsupported,
                "dtype " + std::string(name(from)) + " cannot become " + std::string(name(to)) +
                    ": the imaginary part would be lost; take .real or abs() first");
}

Status refuse_copy(const Plan& plan) {
  const bool one = (plan.reasons & (plan.reasons - 1)) == 0;
  return Status(Code::kInvalid, "copy=False, but " + describe_reasons(plan) +
                                    (one ? " needs" : " need") +
                                    " a copy; pass copy=None or copy=True");
}

Status refuse_size(std::size_t count, DType dtype) {
  return Status(Code::kInvalid, std::to_string(count) + " elements of dtype " +
                                    std::string(name(dtype)) +
                                    " take more bytes than 63 bits count; convert a slice of them");
}

bool strides_fit(LayoutView layout, std::int64_t item_bytes) noexcept {
  for (int axis = 0; axis < layout.ndim; ++axis) {
    if (layout.shape[axis] <= 1) continue;
    const std::int64_t stride = layout.strides_bytes[axis];
    // Item sizes are powers of two, so the test is a mask.
    if (stride < 0 || (stride & (item_bytes - 1)) != 0) return false;
  }
  return true;
}

// Bytes of one part: what alignment and byte order are about.
std::size_t part_bytes(const DTypeInfo& dtype) noexcept {
  return dtype.kind == DTypeKind::kComplex ? dtype.size_bytes / 2u : dtype.size_bytes;
}

bool is_aligned(const void* data, std::size_t alignment) noexcept {
  return (reinterpret_cast<std::uintptr_t>(data) & (alignment - 1)) == 0;
}

std::uint32_t find_reasons(const SourceFacts& source, const Options& options, const Target& target,
                           const Plan& plan, const DTypeInfo& from) noexcept {
  const ArrayView& view = source.view;
  const std::int64_t item_bytes = from.size_bytes;
  const bool swapped = view.byte_swapped && part_bytes(from) > 1;
  std::uint32_t reasons = 0;
  if (options.copy == Copy::kAlways) reasons |= kAsked;
  if (plan.to != plan.from) reasons |= kCast;
  if (swapped != plan.to_byte_swapped) reasons |= kByteOrder;
  if (source.conjugated && from.kind == DTypeKind::kComplex) reasons |= kConjugate;
  if (source.negated) reasons |= kNegate;
  if (options.order == Order::kRowMajor && !is_row_major(view.layout, item_bytes)) {
    reasons |= kReorder;
  }
  if (!target.read_only && view.read_only) reasons |= kReadOnlySource;
  if (!target.any_stride && !strides_fit(view.layout, item_bytes)) reasons |= kStrides;
  if (!target.unaligned && !is_aligned(view.data, part_bytes(from))) reasons |= kAlignment;
  if (source.zeros) reasons |= kNoStorage;
  if (source.on_device) reasons |= kDevice;
  return reasons;
}

}  // namespace

Result<Plan> make_plan(const SourceFacts& source, const Options& options, const Target& target) {
  const ArrayView& view = source.view;
  Plan plan;
  plan.from = view.dtype;
  plan.to = options.dtype.value_or(view.dtype);
  plan.order = options.order;
  const DTypeInfo& from = info(plan.from);
  const DTypeInfo& to = info(plan.to);
  if (from.kind == DTypeKind::kOpaque) return refuse_dtype(plan.from);
  if (to.kind == DTypeKind::kOpaque) return refuse_dtype(plan.to);
  if (from.kind == DTypeKind::kComplex && to.kind != DTypeKind::kComplex) {
    return refuse_complex(plan.from, plan.to);
  }
  const bool swapped = options.dtype ? options.byte_swapped : view.byte_swapped;
  plan.to_byte_swapped = swapped && target.byte_swapped && part_bytes(to) > 1;

  plan.reasons = find_reasons(source, options, target, plan, from);
  if (plan.reasons != 0 && options.copy == Copy::kNever) return refuse_copy(plan);
  const auto count = static_cast<std::size_t>(count_elems(view.layout));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, to.size_bytes, &bytes)) return refuse_size(count, plan.to);
  plan.bytes = static_cast<std::size_t>(bytes);
  if (plan.reasons == 0) {
    plan.read_only = view.read_only || (!target.writable_overlap &&
                                        has_internal_overlap(view.layout, from.size_bytes));
    return plan;
  }
  plan.copied_bytes = plan.bytes;
  plan.path = Path::kHostCopy;
  if (source.on_device) {
    plan.path = Path::kFramework;
    // The framework brings the elements as they are; any other change takes a pass of its own.
    const bool another_pass = (plan.reasons & ~std::uint32_t{kDevice | kAsked | kNoStorage}) != 0;
    plan.copied_bytes = count * from.size_bytes + (another_pass ? plan.bytes : 0);
  }
  return plan;
}

std::string describe_reasons(const Plan& plan) {
  std::uint32_t left = plan.reasons;
  std::string text;
  for (const ReasonText& row : kTexts) {
    if ((left & row.reason) == 0) continue;
    left &= ~std::uint32_t{row.reason};
    if (!text.empty()) text += left == 0 ? " and " : ", ";
    text += row.text;
    if (row.reason == kCast) {
      text += " (" + std::string(name(plan.from)) + " to " + std::string(name(plan.to)) + ")";
    }
  }
  return text;
}

}  // namespace ashore
