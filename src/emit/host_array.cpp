// HostArray::allocate: fresh arrays in aligned host memory. Called by the pipeline and by C++
// users.
#include <ashore/array.hpp>

#include <string>

#include "core/checked.hpp"
#include "host/memory.hpp"

namespace ashore {

Result<HostArray> HostArray::allocate(DType dtype, LayoutView layout) {
  if (layout.ndim < 0 || layout.ndim > kMaxDims) {
    return Status(Code::kInvalid, "an array of " + std::to_string(layout.ndim) +
                                      " dimensions; 0 to " + std::to_string(kMaxDims) +
                                      " are allowed");
  }
  Extent extent;
  if (!measure_extent(layout, static_cast<std::int64_t>(size_bytes(dtype)), extent)) {
    return Status(
        Code::kInvalid,
        "an array shape with a negative length or more bytes than 63 bits count; check the "
        "shape and strides");
  }
  Result<host::Buffer> buffer = host::allocate(static_cast<std::size_t>(extent.high - extent.low));
  if (!buffer.ok()) return buffer.take_status();
  ArrayView view;
  view.data = static_cast<char*>(buffer->get()) - extent.low;
  view.dtype = dtype;
  view.layout = layout;
  return HostArray(view, std::shared_ptr<void>(std::move(*buffer)));
}

}  // namespace ashore
