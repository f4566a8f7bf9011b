// LibTorch's side of the border: at::Tensor in, at::Tensor out. Header-only; include it where
// LibTorch is there and link ashore::torch. The one public header that includes Torch.
#pragma once

#include <ashore/array.hpp>
#include <ashore/dtype.hpp>
#include <ashore/plan.hpp>
#include <ashore/result.hpp>
#include <ashore/to_host.hpp>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Storage.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ashore {

/// What the caller of to_torch asks for.
struct TorchOptions {
  std::optional<at::Device> device;     ///< nothing: the host
  std::optional<at::ScalarType> dtype;  ///< nothing: the array's own
  Copy copy = Copy::kIfNeeded;
  bool requires_grad = false;  ///< the result is a leaf that requires grad
};

namespace torch_detail {

struct TypePair {
  at::ScalarType torch;
  DType ashore;
};

inline constexpr TypePair kTypes[] = {
    {at::ScalarType::Bool, DType::kBool},
    {at::ScalarType::Char, DType::kInt8},
    {at::ScalarType::Short, DType::kInt16},
    {at::ScalarType::Int, DType::kInt32},
    {at::ScalarType::Long, DType::kInt64},
    {at::ScalarType::Byte, DType::kUInt8},
    {at::ScalarType::UInt16, DType::kUInt16},
    {at::ScalarType::UInt32, DType::kUInt32},
    {at::ScalarType::UInt64, DType::kUInt64},
    {at::ScalarType::Half, DType::kFloat16},
    {at::ScalarType::BFloat16, DType::kBFloat16},
    {at::ScalarType::Float, DType::kFloat32},
    {at::ScalarType::Double, DType::kFloat64},
    {at::ScalarType::ComplexHalf, DType::kComplex32},
    {at::ScalarType::ComplexFloat, DType::kComplex64},
    {at::ScalarType::ComplexDouble, DType::kComplex128},
    {at::ScalarType::Float8_e4m3fn, DType::kFloat8E4M3FN},
    {at::ScalarType::Float8_e4m3fnuz, DType::kFloat8E4M3FNUZ},
    {at::ScalarType::Float8_e5m2, DType::kFloat8E5M2},
    {at::ScalarType::Float8_e5m2fnuz, DType::kFloat8E5M2FNUZ},
    {at::ScalarType::Float8_e8m0fnu, DType::kFloat8E8M0FNU},
};

}  // namespace torch_detail

/// Return the core's dtype for PyTorch's, or nothing where it has no NumPy twin.
inline std::optional<DType> dtype_from_torch(at::ScalarType type) noexcept {
  for (const torch_detail::TypePair& pair : torch_detail::kTypes) {
    if (pair.torch == type) return pair.ashore;
  }
  return std::nullopt;
}

/// Return PyTorch's dtype for the core's, or nothing where PyTorch has none.
inline std::optional<at::ScalarType> dtype_to_torch(DType dtype) noexcept {
  for (const torch_detail::TypePair& pair : torch_detail::kTypes) {
    if (pair.ashore == dtype) return pair.torch;
  }
  return std::nullopt;
}

/// Bring a tensor ashore, detached, with conj and neg bits resolved.
///
/// Memory is shared whenever nothing has to change. A shared array holds the tensor's storage,
/// which is marked as not resizable, as Tensor.numpy() does: neither the tensor's death nor
/// resize_(), set_() or set_data() pulls the memory away. Device tensors are copied by PyTorch,
/// complete on return; expanded ones are shared read-only. Fails with kUnsupported (no array form:
/// sparse, quantized, nested, meta, function transforms, no memory; complex32 without a wider
/// dtype), kInvalid (copy == kNever where a copy is unavoidable), kUnreachable or kNoMemory.
Result<HostArray> to_host(const at::Tensor& tensor, const Options& options = {});

/// Say what to_host would do with a tensor. Moves nothing.
Result<Plan> plan_of(const at::Tensor& tensor, const Options& options = {});

/// Make a tensor of an array. Memory is shared whenever nothing has to change, and then kept alive
/// by the tensor's storage; read-only arrays, negative strides, foreign byte order and another
/// dtype or device are copied. Fails with kInvalid (copy == kNever where a copy is unavoidable; a
/// gradient on integers), kUnsupported (no such dtype in PyTorch, complex to real), kUnreachable
/// (device) or kNoMemory.
Result<at::Tensor> to_torch(const HostArray& array, const TorchOptions& options = {});

namespace torch_detail {

inline Status refuse(std::string message) { return {Code::kUnsupported, std::move(message)}; }

// PyTorch's reason, of which the first line is kept.
inline Status explain(Code code, std::string_view where, std::string_view reason) {
  return {code, std::string(where) + ": " + std::string(reason.substr(0, reason.find('\n')))};
}

/// Run `function`, which returns a Result; what PyTorch throws in it becomes a Status of one line.
template <typename Function>
auto without_exceptions(Code code, std::string_view where, Function function)
    -> decltype(function()) {
  try {
    return function();
  } catch (const c10::OutOfMemoryError& error) {
    return explain(Code::kNoMemory, where, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return explain(Code::kNoMemory, where, "out of memory; free some");
  } catch (const c10::Error& error) {
    return explain(code, where, error.what_without_backtrace());
  } catch (const std::exception& error) {
    return explain(code, where, error.what());
  }
}

// Name the function transform whose wrapper this tensor is, if it is one.
inline const char* transform_of(const at::Tensor& tensor) {
  using Key = c10::DispatchKey;
  const c10::DispatchKeySet keys = tensor.key_set();
  for (const Key vmap : {Key::FuncTorchBatched, Key::BatchedNestedTensor, Key::Batched}) {
    if (keys.has(vmap)) return "vmap";
  }
  if (keys.has(Key::FuncTorchGradWrapper)) return "grad";
  return keys.has(Key::Functionalize) ? "functionalize" : nullptr;
}

// Refuse the kinds of tensors that have no array form (contract N10).
inline Status check_kind(const at::Tensor& tensor) {
  if (!tensor.defined()) return refuse("an undefined tensor has no values; assign it first");
  if (const char* transform = transform_of(tensor)) {
    const std::string name(transform);
    return refuse("a tensor inside torch.func." + name +
                  " has no memory of its own; convert it outside the function that " + name +
                  " runs");
  }
  if (tensor.is_nested() || tensor.layout() == at::kJagged) {
    return refuse(
        "a nested tensor has rows of different lengths; take .unbind() or "
        "torch::nested::to_padded_tensor()");
  }
  if (tensor.layout() != at::kStrided) {
    return refuse("a tensor of layout " + c10::str(tensor.layout()) +
                  " has no dense memory; call .to_dense()");
  }
  if (tensor.is_quantized()) {
    return refuse(
        "a quantized tensor is numbers and a scale; call .dequantize() for the values, "
        ".int_repr() for the bits");
  }
  if (tensor.is_meta()) {
    return refuse("a tensor on the meta device has a shape but no data; make it on a real device");
  }
  if (!dtype_from_torch(tensor.scalar_type())) {
    return refuse("dtype " + std::string(c10::toString(tensor.scalar_type())) +
                  " has no NumPy twin; convert the tensor to another dtype first");
  }
  if (tensor.dim() > kMaxDims) {
    return refuse("a tensor of " + std::to_string(tensor.dim()) +
                  " dimensions is beyond NumPy's limit of " + std::to_string(kMaxDims));
  }
  return {};
}

// Read the shape and strides, in bytes.
inline Status read_layout(const at::Tensor& tensor, std::int64_t item_bytes, Layout& layout) {
  const at::IntArrayRef shape = tensor.sizes();
  const at::IntArrayRef strides = tensor.strides();
  layout.ndim = static_cast<int>(tensor.dim());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    layout.shape[axis] = shape[axis];
    if (__builtin_mul_overflow(strides[axis], item_bytes, &layout.strides_bytes[axis])) {
      return refuse("the tensor's strides reach past what 63 bits can address");
    }
  }
  return {};
}

// Find the address of a host tensor's elements, all of which must lie in its storage: a storage
// that was freed or shrunk leaves tensors behind that point outside.
inline Status read_address(const at::Tensor& tensor, std::int64_t item_bytes, const Layout& layout,
                           void*& data) {
  data = nullptr;
  if (tensor.numel() == 0) return {};
  const char* begin = nullptr;
  std::size_t size = 0;
  try {
    if (tensor.has_storage()) begin = static_cast<const char*>(tensor.storage().data());
    if (begin != nullptr) size = tensor.storage().nbytes();
  } catch (const c10::Error&) {  // PyTorch's word for a storage that may not be looked into
  }
  std::int64_t end = 0;
  bool fits = !__builtin_mul_overflow(tensor.storage_offset() + 1, item_bytes, &end);
  for (int axis = 0; axis < layout.ndim; ++axis) {
    std::int64_t reach = 0;
    fits &= !__builtin_mul_overflow(layout.shape[axis] - 1, layout.strides_bytes[axis], &reach) &&
            !__builtin_add_overflow(end, reach, &end);
  }
  if (!fits || static_cast<std::uint64_t>(end) > size) {
    return refuse(
        "the tensor has no memory of its own to read (a wrapper, a fake tensor or a freed "
        "storage); convert the tensor that it stands for");
  }
  data = const_cast<char*>(begin) + tensor.storage_offset() * item_bytes;
  return {};
}

// Fill facts (whose view points at `layout`) from a tensor. Nothing is allocated on success.
inline Status read_tensor(const at::Tensor& tensor, Layout& layout, SourceFacts& facts) {
  Status status = check_kind(tensor);
  if (!status.ok()) return status;
  facts.view.dtype = *dtype_from_torch(tensor.scalar_type());
  const auto item_bytes = static_cast<std::int64_t>(size_bytes(facts.view.dtype));
  status = read_layout(tensor, item_bytes, layout);
  if (!status.ok()) return status;
  facts.view.layout = layout.view();
  facts.on_device = !tensor.is_cpu();
  facts.conjugated = tensor.is_conj();
  facts.negated = tensor.is_neg();
  facts.zeros = tensor._is_zerotensor();
  facts.requires_grad = tensor.requires_grad();
  if (facts.on_device || facts.zeros) return {};
  return read_address(tensor, item_bytes, layout, facts.view.data);
}

// Read a tensor and decide what happens to it. complex32 is not widened silently.
inline Result<Plan> plan_tensor(const at::Tensor& tensor, const Options& options, Layout& layout,
                                SourceFacts& facts) {
  Status status = read_tensor(tensor, layout, facts);
  if (!status.ok()) return status;
  const DType to = options.dtype.value_or(facts.view.dtype);
  if (facts.view.dtype == DType::kComplex32 && size_bytes(to) <= 4 && is_complex(to)) {
    return refuse(
        "complex32 has no NumPy dtype and is not widened silently; pass dtype = complex64");
  }
  return make_plan(facts, options, kNumPyTarget);
}

// Make the tensor's storage safe to share, and return what keeps it alive: the storage itself,
// since a tensor can be given another one. A lazy clone gets memory of its own first. Without
// elements there is nothing to keep.
inline std::shared_ptr<void> lock_storage(const at::Tensor& tensor, SourceFacts& facts) {
  if (tensor.numel() == 0) return nullptr;
  facts.view.data = tensor.mutable_data_ptr();
  tensor.storage().unsafeGetStorageImpl()->set_resizable(false);
  return std::make_shared<c10::Storage>(tensor.storage());
}

inline Result<HostArray> bring_ashore(const at::Tensor& tensor, const Options& options) {
  Layout layout;
  SourceFacts facts;
  Result<Plan> plan = plan_tensor(tensor, options, layout, facts);
  if (!plan.ok()) return plan.take_status();
  if (plan->path != Path::kFramework) {
    const bool shares = plan->path == Path::kShare;
    return ashore::to_host(facts, shares ? lock_storage(tensor, facts) : nullptr, options);
  }
  const std::string where = c10::str("PyTorch could not copy from device ", tensor.device());
  return without_exceptions(Code::kUnreachable, where, [&]() -> Result<HostArray> {
    const at::NoGradGuard no_grad;
    const at::Tensor host = tensor.detach().cpu();
    if (!host.is_cpu()) return explain(Code::kUnreachable, where, "the copy is on a device too");
    Options rest = options;  // new memory that nobody else holds is as good as a copy
    rest.copy = Copy::kIfNeeded;
    return bring_ashore(host, rest);
  });
}

// Strides in elements as PyTorch can hold them: axes of length 0 or 1 do not count and get what
// row-major order gives, so that none is negative (contract T3).
inline void torch_strides(LayoutView layout, std::int64_t item_bytes, std::int64_t* strides) {
  std::int64_t next = 1;
  for (int axis = layout.ndim - 1; axis >= 0; --axis) {
    const std::int64_t length = layout.shape[axis];
    strides[axis] = length <= 1 ? next : layout.strides_bytes[axis] / item_bytes;
    if (strides[axis] < 0) strides[axis] = next;  // of an array without elements
    next = length == 0 ? next : std::max(next, strides[axis] * length);
  }
}

inline Result<at::Tensor> share_array(const HostArray& array, at::ScalarType type) {
  const ArrayView view = array.view();
  const auto ndim = static_cast<std::size_t>(view.layout.ndim);
  std::int64_t strides[kMaxDims];
  torch_strides(view.layout, static_cast<std::int64_t>(size_bytes(view.dtype)), strides);
  return at::from_blob(
      view.data, {view.layout.shape, ndim}, {strides, ndim}, [owner = array.owner()](void*) {},
      at::TensorOptions(type).device(at::kCPU));
}

inline Result<at::Tensor> copy_array(const HostArray& array, const Plan& plan,
                                     at::ScalarType type) {
  const ArrayView source = array.view();
  const auto item_bytes = static_cast<std::int64_t>(size_bytes(plan.to));
  const auto ndim = static_cast<std::size_t>(source.layout.ndim);
  Layout layout;
  compact_layout(source.layout, plan.order, item_bytes, layout);
  std::int64_t strides[kMaxDims];
  torch_strides(layout.view(), item_bytes, strides);
  at::Tensor tensor = at::empty_strided({source.layout.shape, ndim}, {strides, ndim},
                                        at::TensorOptions(type).device(at::kCPU));
  ArrayView destination;
  destination.data = tensor.mutable_data_ptr();
  destination.dtype = plan.to;
  destination.layout = layout.view();
  Status status = convert_into(source, destination);
  if (!status.ok()) return status;
  return tensor;
}

inline Result<at::Tensor> send(const HostArray& array, const TorchOptions& options) {
  const bool travels = options.device && !options.device->is_cpu();
  Options wanted;
  wanted.copy = travels ? Copy::kIfNeeded : options.copy;  // the way to a device is a copy
  if (options.dtype) {
    wanted.dtype = dtype_from_torch(*options.dtype);
    if (!wanted.dtype) {
      return refuse("dtype " + std::string(c10::toString(*options.dtype)) +
                    " has no NumPy twin; pass another dtype");
    }
  }
  const DType to = wanted.dtype.value_or(array.dtype());
  const std::optional<at::ScalarType> type = dtype_to_torch(to);
  if (!type) {
    return refuse("PyTorch has no dtype " + std::string(name(to)) + "; pass a dtype that it has");
  }
  const DTypeKind kind = info(to).kind;
  if (options.requires_grad && kind != DTypeKind::kFloat && kind != DTypeKind::kComplex) {
    return Status(Code::kInvalid, "requires_grad=True, but a tensor of dtype " +
                                      std::string(name(to)) +
                                      " cannot carry a gradient; pass a floating dtype");
  }
  if (travels && options.device->is_meta()) {
    return Status(Code::kUnreachable, "device 'meta' cannot be reached: it has no memory");
  }
  if (travels && options.copy == Copy::kNever) {
    return Status(Code::kInvalid,
                  "copy=False, but another device needs a copy; pass copy=None or copy=True");
  }
  SourceFacts facts;
  facts.view = array.view();
  Result<Plan> plan = make_plan(facts, wanted, kTorchTarget);
  if (!plan.ok()) return plan.take_status();
  const bool shares = plan->path == Path::kShare && array.count() > 0;
  Result<at::Tensor> tensor = shares ? share_array(array, *type) : copy_array(array, *plan, *type);
  if (!tensor.ok()) return tensor;
  if (travels) {
    const std::string where = c10::str("device '", *options.device, "' cannot be reached");
    tensor = without_exceptions(Code::kUnreachable, where, [&]() -> Result<at::Tensor> {
      const at::NoGradGuard no_grad;
      return tensor->to(*options.device);
    });
    if (!tensor.ok()) return tensor;
  }
  if (options.requires_grad) tensor->set_requires_grad(true);
  return tensor;
}

}  // namespace torch_detail

inline Result<HostArray> to_host(const at::Tensor& tensor, const Options& options) {
  return torch_detail::without_exceptions(
      Code::kUnsupported, "the tensor cannot be read",
      [&]() -> Result<HostArray> { return torch_detail::bring_ashore(tensor, options); });
}

inline Result<Plan> plan_of(const at::Tensor& tensor, const Options& options) {
  return torch_detail::without_exceptions(
      Code::kUnsupported, "the tensor cannot be read", [&]() -> Result<Plan> {
        Layout layout;
        SourceFacts facts;
        return torch_detail::plan_tensor(tensor, options, layout, facts);
      });
}

inline Result<at::Tensor> to_torch(const HostArray& array, const TorchOptions& options) {
  return torch_detail::without_exceptions(
      Code::kUnsupported, "PyTorch cannot make the tensor",
      [&]() -> Result<at::Tensor> { return torch_detail::send(array, options); });
}

}  // namespace ashore
