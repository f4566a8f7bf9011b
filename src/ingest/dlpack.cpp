// Reads and checks DLPack tensors. The exchange API checks nothing, so everything is checked here.
#include "ingest/dlpack.hpp"

#include <utility>

#include "core/checked.hpp"
#include "core/dlpack_dtype.hpp"

namespace ashore::ingest {
namespace {

Status refuse(std::string message) { return Status(Code::kUnsupported, std::move(message)); }

const char* code_name(std::uint8_t code) noexcept {
  switch (code) {
    case dlpack::kInt:
      return "int";
    case dlpack::kUInt:
      return "uint";
    case dlpack::kFloat:
      return "float";
    case dlpack::kOpaqueHandle:
      return "opaque handle";
    case dlpack::kBfloat:
      return "bfloat";
    case dlpack::kComplex:
      return "complex";
    case dlpack::kBool:
      return "bool";
    default:
      return nullptr;
  }
}

std::string dtype_label(dlpack::DataType type) {
  const std::optional<DType> known = dtype_from_dlpack(type);
  if (known) return std::string(name(*known));
  const char* family = code_name(type.code);
  if (family != nullptr) return family + std::to_string(type.bits);
  return "of unknown code";
}

// Say why no dtype fits: out of line, for the hot path never comes here.
Status refuse_dtype(dlpack::DataType type) {
  const std::string called = "dtype " + dtype_label(type) + " (DLPack code " +
                             std::to_string(type.code) + ", " + std::to_string(type.bits) +
                             " bits)";
  if (type.lanes != 1) {
    return refuse(called + " comes with " + std::to_string(type.lanes) +
                  " lanes where only 1 has a form; view it as its scalars first");
  }
  const bool whole_number = type.code == dlpack::kInt || type.code == dlpack::kUInt;
  if (type.bits < 8 && (whole_number || dtype_from_dlpack(type))) {
    return refuse(called +
                  " packs several elements into a byte, which no NumPy dtype does; widen "
                  "it first, for example to int8 or float32");
  }
  return refuse(called + " has no NumPy twin; cast it to a dtype that has one first");
}

Status refuse_shape(const dlpack::Tensor& tensor) {
  for (int axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] < 0) {
      return refuse("DLPack tensor has length " + std::to_string(tensor.shape[axis]) + " on axis " +
                    std::to_string(axis) + "; lengths must be 0 or more: the producer is at fault");
    }
  }
  return refuse(
      "DLPack tensor's shape and strides reach past what 63 bits can address; the producer is at "
      "fault");
}

}  // namespace

bool is_host_memory(std::int32_t device_type) noexcept {
  return device_type == dlpack::kCPU || device_type == dlpack::kCUDAHost ||
         device_type == dlpack::kROCMHost;
}

std::string device_name(dlpack::Device device) {
  const std::string id = std::to_string(device.id);
  switch (device.type) {
    case dlpack::kCPU:
      return "CPU";
    case dlpack::kCUDA:
      return "CUDA device " + id;
    case dlpack::kCUDAHost:
      return "CUDA pinned host memory";
    case dlpack::kOpenCL:
      return "OpenCL device " + id;
    case dlpack::kVulkan:
      return "Vulkan device " + id;
    case dlpack::kMetal:
      return "Metal device " + id;
    case dlpack::kVPI:
      return "VPI device " + id;
    case dlpack::kROCM:
      return "ROCm device " + id;
    case dlpack::kROCMHost:
      return "ROCm pinned host memory";
    case dlpack::kExtDev:
      return "extension device " + id;
    case dlpack::kCUDAManaged:
      return "CUDA managed memory of device " + id;
    case dlpack::kOneAPI:
      return "oneAPI device " + id;
    case dlpack::kWebGPU:
      return "WebGPU device " + id;
    case dlpack::kHexagon:
      return "Hexagon device " + id;
    case dlpack::kMAIA:
      return "MAIA device " + id;
    case dlpack::kTrn:
      return "Trainium device " + id;
    default:
      return "device type " + std::to_string(device.type);
  }
}

Status read_tensor(const dlpack::Tensor& tensor, std::uint64_t flags, Layout& layout,
                   SourceFacts& facts) {
  // The dtype. Elements of fewer than 8 bits are packed unless the producer says otherwise.
  const std::optional<DType> dtype = dtype_from_dlpack(tensor.dtype);
  const bool padded = tensor.dtype.bits >= 8 || (flags & dlpack::kSubBytePadded) != 0;
  if (!dtype || tensor.dtype.lanes != 1 || !padded) return refuse_dtype(tensor.dtype);
  const auto item_bytes = static_cast<std::int64_t>(size_bytes(*dtype));

  // The layout.
  const int ndim = tensor.ndim;
  if (ndim < 0 || ndim > kMaxDims) {
    return refuse("DLPack tensor has " + std::to_string(ndim) + " dimensions; 0 to " +
                  std::to_string(kMaxDims) + " can be held");
  }
  if (ndim > 0 && tensor.shape == nullptr) {
    return refuse("DLPack tensor of " + std::to_string(ndim) +
                  " dimensions has no shape (null); the producer is at fault");
  }
  layout.ndim = ndim;
  bool fits = true;
  std::int64_t compact = item_bytes;
  for (int axis = ndim - 1; axis >= 0; --axis) {
    const std::int64_t length = tensor.shape[axis];
    layout.shape[axis] = length;
    if (tensor.strides != nullptr) {
      fits &= checked_multiply(tensor.strides[axis], item_bytes, layout.strides_bytes[axis]);
    } else {
      layout.strides_bytes[axis] = compact;
      if (length > 1) fits &= checked_multiply(compact, length, compact);
    }
  }
  Extent extent;
  if (!fits || !measure_extent(layout.view(), item_bytes, extent)) return refuse_shape(tensor);

  // The memory. A device's address is not looked at, not even to add the offset.
  facts = SourceFacts{};
  facts.view.dtype = *dtype;
  facts.view.layout = layout.view();
  facts.view.read_only = (flags & dlpack::kReadOnly) != 0;
  if (!is_host_memory(tensor.device.type)) {
    facts.on_device = true;
    return {};
  }
  if (tensor.data == nullptr) {
    if (extent.count == 0) return {};
    return refuse("DLPack tensor has " + std::to_string(extent.count) +
                  " elements but no memory (null data); materialise it before converting");
  }
  const auto base = reinterpret_cast<std::uintptr_t>(tensor.data);
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;
  const auto below = static_cast<std::uintptr_t>(-extent.low);
  if (__builtin_add_overflow(base, tensor.byte_offset, &first) || below > first ||
      __builtin_add_overflow(first, static_cast<std::uintptr_t>(extent.high), &end)) {
    return refuse(
        "DLPack tensor's byte_offset and strides reach past the address space; the producer is at "
        "fault");
  }
  facts.view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  return {};
}

Source::Source(Source&& other) noexcept
    : layout_(other.layout_),
      facts_(other.facts_),
      device_(other.device_),
      flags_(other.flags_),
      keep_alive_(std::move(other.keep_alive_)) {
  facts_.view.layout = layout_.view();
}

Source& Source::operator=(Source&& other) noexcept {
  if (this == &other) return *this;
  layout_ = other.layout_;
  facts_ = other.facts_;
  facts_.view.layout = layout_.view();
  device_ = other.device_;
  flags_ = other.flags_;
  keep_alive_ = std::move(other.keep_alive_);
  return *this;
}

namespace {

// Runs the producer's deleter, where it gave one.
template <typename Managed>
void run_deleter(void* managed) {
  auto* self = static_cast<Managed*>(managed);
  if (self->deleter != nullptr) self->deleter(self);
}

template <typename Managed>
Source::KeepAlive own(Managed* managed) noexcept {
  return Source::KeepAlive(managed, &run_deleter<Managed>);
}

Status refuse_null() { return refuse("DLPack capsule holds no tensor (null); it was used before"); }

}  // namespace

template <typename Managed>
Result<Source> Source::read(const Managed& managed, std::uint64_t flags, KeepAlive keep_alive) {
  Source source(std::move(keep_alive));
  Status status = read_tensor(managed.tensor, flags, source.layout_, source.facts_);
  if (!status.ok()) return status;
  source.device_ = managed.tensor.device;
  source.flags_ = flags;
  return source;
}

Result<Source> take(dlpack::ManagedTensorVersioned* managed) {
  if (managed == nullptr) return refuse_null();
  Source::KeepAlive keep_alive = own(managed);
  if (managed->version.major != dlpack::kMajorVersion) {
    return refuse("DLPack version " + std::to_string(managed->version.major) + "." +
                  std::to_string(managed->version.minor) + " is not understood; version " +
                  std::to_string(dlpack::kMajorVersion) +
                  " is: ask the producer for it (max_version)");
  }
  return Source::read(*managed, managed->flags, std::move(keep_alive));
}

Result<Source> take(dlpack::ManagedTensor* managed) {
  if (managed == nullptr) return refuse_null();
  return Source::read(*managed, 0, own(managed));
}

}  // namespace ashore::ingest
