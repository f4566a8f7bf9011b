// Wraps a HostArray for any DLPack consumer, which then keeps its memory alive; the pipeline calls
// it.
#include "emit/dlpack.hpp"

#include <memory>
#include <new>
#include <string>

#include "core/dlpack_dtype.hpp"

namespace ashore::emit {
namespace {

// What the consumer gets a pointer into, and deletes through `managed.deleter`.
struct Export {
  explicit Export(const HostArray& exported) : array(exported) {}

  dlpack::ManagedTensorVersioned managed{};
  HostArray array;  // keeps the memory, and holds the shape that `managed` points at
  std::int64_t shape[kMaxDims];
  std::int64_t strides[kMaxDims];
};

void delete_export(dlpack::ManagedTensorVersioned* self) {
  delete static_cast<Export*>(self->manager_ctx);
}

}  // namespace

Result<dlpack::ManagedTensorVersioned*> wrap_dlpack(const HostArray& array) {
  const ArrayView view = array.view();
  const std::optional<dlpack::DataType> type = dtype_to_dlpack(view.dtype);
  if (!type) {
    return Status(Code::kUnsupported,
                  "dtype " + std::string(name(view.dtype)) +
                      " has no DLPack code; cast it first, for example to float64");
  }
  if (view.byte_swapped) {
    return Status(
        Code::kUnsupported,
        "DLPack cannot say byte order, and this array has the foreign one; copy it to the "
        "machine's own first");
  }
  const auto item_bytes = static_cast<std::int64_t>(size_bytes(view.dtype));
  std::unique_ptr<Export> exported(new (std::nothrow) Export(array));
  if (exported == nullptr) {
    return Status(Code::kNoMemory, "cannot allocate a DLPack struct; free some memory");
  }
  for (int axis = 0; axis < view.layout.ndim; ++axis) {
    const std::int64_t stride = view.layout.strides_bytes[axis];
    if (view.layout.shape[axis] > 1 && stride % item_bytes != 0) {
      return Status(Code::kUnsupported, "stride of " + std::to_string(stride) + " bytes on axis " +
                                            std::to_string(axis) +
                                            " is no whole number of elements of " +
                                            std::to_string(item_bytes) +
                                            " bytes, which DLPack needs; copy the array first");
    }
    exported->shape[axis] = view.layout.shape[axis];
    exported->strides[axis] = stride / item_bytes;
  }
  dlpack::ManagedTensorVersioned& managed = exported->managed;
  managed.version = {dlpack::kMajorVersion, dlpack::kMinorVersion};
  managed.manager_ctx = exported.get();
  managed.deleter = &delete_export;
  managed.flags = view.read_only ? std::uint64_t{dlpack::kReadOnly} : 0;
  if (type->bits < 8) managed.flags |= dlpack::kSubBytePadded;
  managed.tensor.data = view.data;
  managed.tensor.device = {dlpack::kCPU, 0};
  managed.tensor.ndim = view.layout.ndim;
  managed.tensor.dtype = *type;
  managed.tensor.shape = exported->shape;
  managed.tensor.strides = exported->strides;
  return &exported.release()->managed;
}

}  // namespace ashore::emit
