// See storage.hpp. The checks and words are those of ATen/native/Resize.h, TensorFactories and
// ATen/native/cuda/{Resize,TensorShapeCUDA}.cpp.
#include "storage.hpp"

#include <ATen/NativeFunctions.h>
#include <ATen/native/Resize.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstring>

#include "allocators.hpp"
#include "kernels.hpp"

namespace ashore::emulator {

namespace {

using at::Tensor;
using Sizes = c10::SymIntArrayRef;

std::optional<int64_t> concrete(const std::optional<c10::SymInt>& number) {
  return number ? std::optional(number->guard_int(__FILE__, __LINE__)) : std::nullopt;
}

Tensor as_strided(const Tensor& self, Sizes size, Sizes stride, std::optional<c10::SymInt> offset) {
  return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size),
                                           C10_AS_INTARRAYREF_SLOW(stride), concrete(offset));
}

Tensor view(const Tensor& self, Sizes size) {
  return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

Tensor reshape_alias(const Tensor& self, Sizes size, Sizes stride) {
  return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size),
                                           C10_AS_INTARRAYREF_SLOW(stride), std::nullopt);
}

// Give a storage other memory of that size, with as many of its bytes as fit.
void reallocate(c10::StorageImpl* storage, std::size_t size_bytes) {
  TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
  c10::DataPtr data = allocate_device(size_bytes, storage->device().index());
  const std::size_t kept = std::min(size_bytes, storage->nbytes());
  if (kept != 0) std::memcpy(host_address(data.get()), host_address(storage->data()), kept);
  storage->set_data_ptr_noswap(std::move(data));
  storage->set_nbytes(size_bytes);
}

void grow_to_fit(const Tensor& self, std::size_t needed_bytes) {
  c10::StorageImpl* storage = self.storage().unsafeGetStorageImpl();
  if (self.numel() != 0 && needed_bytes > storage->nbytes()) reallocate(storage, needed_bytes);
}

std::size_t bytes_needed(const Tensor& self) {
  return at::detail::computeStorageNbytes(self.sizes(), self.strides(), self.itemsize(),
                                          static_cast<std::size_t>(self.storage_offset()));
}

const Tensor& resize_(const Tensor& self, Sizes size, std::optional<at::MemoryFormat> format) {
  c10::TensorImpl* impl = self.unsafeGetTensorImpl();
  const at::IntArrayRef sizes = C10_AS_INTARRAYREF_SLOW(size);
  if (self.sizes() != sizes) {
    impl->set_sizes_contiguous(sizes);
    grow_to_fit(self, bytes_needed(self));
  }
  if (format) {
    TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format", *format);
    impl->empty_tensor_restride(*format);
    grow_to_fit(self, bytes_needed(self));
  }
  return self;
}

void set_storage(Tensor& self, c10::Storage storage) {
  // The words of checkSetStorage.
  TORCH_CHECK(self.storage().device() == storage.device(),
              "Attempted to set the storage of a tensor on device \"", self.storage().device(),
              "\" to a storage on different device \"", storage.device(),
              "\".  This is no longer allowed; the devices must match.");
  self.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(storage));
}

Tensor& set_strided(Tensor& self, c10::Storage storage, c10::SymInt offset, Sizes size,
                    Sizes stride) {
  const at::IntArrayRef sizes = C10_AS_INTARRAYREF_SLOW(size);
  const at::IntArrayRef strides = C10_AS_INTARRAYREF_SLOW(stride);
  const std::int64_t start = offset.guard_int(__FILE__, __LINE__);
  TORCH_CHECK(start >= 0, "Tensor: invalid storage offset ", start);
  set_storage(self, std::move(storage));
  c10::TensorImpl* impl = self.unsafeGetTensorImpl();
  if (strides.data() == nullptr || strides.size() != sizes.size()) {
    impl->set_sizes_contiguous(sizes);
    impl->set_storage_offset(start);
  } else {
    impl->set_sizes_and_strides(sizes, strides, start);
  }
  grow_to_fit(self, bytes_needed(self));
  return self;
}

Tensor& set_tensor(Tensor& self, const Tensor& source) {
  if (self.is_same(source)) return self;
  return set_strided(self, source.storage(), source.sym_storage_offset(), source.sym_sizes(),
                     source.sym_strides());
}

Tensor& set_whole(Tensor& self, c10::Storage storage) {
  const auto count = static_cast<std::int64_t>(storage.nbytes() / self.itemsize());
  set_storage(self, std::move(storage));
  self.unsafeGetTensorImpl()->set_sizes_and_strides(at::IntArrayRef{count}, at::IntArrayRef{1}, 0);
  return self;
}

Tensor& set_empty(Tensor& self) {
  set_storage(self, c10::Storage(c10::Storage::use_byte_size_t(), 0,
                                 allocate_device(0, self.get_device()), device_allocator(), true));
  self.unsafeGetTensorImpl()->set_sizes_and_strides(at::IntArrayRef{0}, at::IntArrayRef{1}, 0);
  return self;
}

bool is_set_to(const Tensor& self, const Tensor& other) {
  return self.storage().is_alias_of(other.storage()) &&
         self.storage_offset() == other.storage_offset() && self.sizes() == other.sizes() &&
         self.strides() == other.strides();
}

void record_on_stream(Tensor& self, c10::Stream stream) {
  record_stream(self.storage().data_ptr(), stream);
}

}  // namespace

Tensor quantized_as_strided(const Tensor& self, Sizes size, Sizes stride,
                            std::optional<c10::SymInt> offset) {
  return at::native::as_strided_qtensorimpl(self, C10_AS_INTARRAYREF_SLOW(size),
                                            C10_AS_INTARRAYREF_SLOW(stride), concrete(offset));
}

void resize_storage(void* storage_impl, std::int64_t size_bytes) {
  reallocate(static_cast<c10::StorageImpl*>(storage_impl), static_cast<std::size_t>(size_bytes));
}

void add_storage_kernels(KernelTable& table) {
  table.add("as_strided", as_strided);
  table.add("view", view);
  table.add("_reshape_alias", reshape_alias);
  table.add("resize_", resize_);
  table.add("set_.source_Storage_storage_offset", set_strided);
  table.add("set_.source_Tensor", set_tensor);
  table.add("set_.source_Storage", set_whole);
  table.add("set_", set_empty);
  table.add("is_set_to", is_set_to);
  table.add("record_stream", record_on_stream);
}

}  // namespace ashore::emulator
