// New tensors on the emulated device.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>

#include <cstdlib>
#include <cstring>

#include "allocators.hpp"
#include "kernels.hpp"

namespace ashore::emulator {

namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;

void refuse_pinned(std::optional<bool> pinned) {
  TORCH_CHECK(!pinned.value_or(false), "Only dense CPU tensors can be pinned");
}

Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype,
             std::optional<at::Layout> /*layout*/, std::optional<c10::Device> device,
             std::optional<bool> pinned, std::optional<at::MemoryFormat> format) {
  refuse_pinned(pinned);
  const DeviceScope scope(device_index(device));
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), device_allocator(),
                                   DispatchKeySet(DispatchKey::CUDA), c10::dtype_or_default(dtype),
                                   format);
}

Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                     std::optional<at::ScalarType> dtype, std::optional<at::Layout> /*layout*/,
                     std::optional<c10::Device> device, std::optional<bool> pinned) {
  refuse_pinned(pinned);
  const DeviceScope scope(device_index(device));
  return at::detail::empty_strided_generic(
      C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), device_allocator(),
      DispatchKeySet(DispatchKey::CUDA), c10::dtype_or_default(dtype));
}

// A tensor of zeros without memory, as functorch and forward-mode autograd use them.
class ZeroAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t /*size_bytes*/) override {
    return {nullptr, cuda_device(tl_device)};
  }
  void copy_data(void*, const void*, std::size_t) const override {}
};

Tensor efficient_zero_tensor(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype,
                             std::optional<at::Layout> /*layout*/,
                             std::optional<c10::Device> device, std::optional<bool> /*pinned*/) {
  static auto* allocator = new ZeroAllocator;
  const DeviceScope scope(device_index(device));
  return at::detail::empty_generic(
      C10_AS_INTARRAYREF_SLOW(size), allocator,
      DispatchKeySet(DispatchKey::CUDA) | DispatchKeySet(DispatchKey::ZeroTensor),
      c10::dtype_or_default(dtype), std::nullopt);
}

}  // namespace

void add_factories(KernelTable& table) {
  table.add("empty.memory_format", empty);
  table.add("empty_strided", empty_strided);
  table.add("_efficientzerotensor", efficient_zero_tensor);
}

}  // namespace ashore::emulator
