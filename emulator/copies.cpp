// See copies.hpp. What goes through temporaries, what is converted where, and what waits, is as in
// ATen/native/cuda/Copy.cu of PyTorch 2.13; the simulated driver decides when bytes arrive.
#include "copies.hpp"

#include <ATen/CPUFunctions.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty_like.h>

#include "alias.hpp"
#include "allocators.hpp"
#include "kernels.hpp"
#include "streams.hpp"

namespace ashore::emulator {

namespace {

using at::Tensor;

// A copy by a kernel: within a device, between devices, and of layouts with members.
void copy_by_kernel(Tensor& self, const Tensor& source) {
  Aliases aliases(self.is_cuda() ? self.get_device() : source.get_device());
  if (source.is_cuda()) begin_kernel(source.get_device());
  if (self.is_cuda()) begin_kernel(self.get_device());
  Tensor to = aliases.to_host(self);
  const Tensor from = aliases.to_host(source);
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    const KernelScope kernel(self.is_cuda() ? self.get_device() : -1);
    to.copy_(from);
  }
  if (self.is_quantized()) {
    aliases.copy_quantizer(self, to);
  } else if (self.layout() != at::kStrided && self.is_cuda()) {
    aliases.write_back(self, to);
  }
}

// The driver's copy of bytes that lie alike on both sides.
void copy_bytes(const Tensor& to, const Tensor& from, bool non_blocking) {
  const bool is_to_device = to.is_cuda();
  const int device = is_to_device ? to.get_device() : from.get_device();
  const device::StreamHandle stream = stream_handle(device, current_stream_id(device));
  const std::size_t size_bytes = to.nbytes();
  enter_device(device);
  note_origin();
  if (is_to_device) {
    check(
        g_machine.driver->memcpy_htod_async(reinterpret_cast<device::DevicePointer>(to.data_ptr()),
                                            from.const_data_ptr(), size_bytes, stream));
  } else {
    check(g_machine.driver->memcpy_dtoh_async(
        to.data_ptr(), reinterpret_cast<device::DevicePointer>(from.const_data_ptr()), size_bytes,
        stream));
  }
  if (!non_blocking) {
    wait_for_current_stream(device, "cudaMemcpy");
    return;
  }
  const Tensor& on_host = is_to_device ? from : to;
  pinned_record_event(
      on_host.const_data_ptr(), on_host.storage().data_ptr().get_context(),
      c10::Stream(c10::Stream::UNSAFE, cuda_device(device), current_stream_id(device)));
}

bool lie_alike(const Tensor& a, const Tensor& b) {
  if (a.scalar_type() != b.scalar_type()) return false;
  return (a.is_contiguous() && b.is_contiguous()) ||
         (a.strides() == b.strides() && a.is_non_overlapping_and_dense());
}

void copy_across(Tensor& self, const Tensor& source, bool non_blocking) {
  if (!lie_alike(self, source)) {
    // Conversions run on the GPU if the copy is not to block, else on the host.
    Tensor to;
    Tensor from;
    const bool same_dtype = self.scalar_type() == source.scalar_type();
    if (source.is_cuda() == non_blocking) {
      to = self.is_contiguous() ? self : at::empty_like(self, at::MemoryFormat::Contiguous);
      from = source.to(self.scalar_type()).expand_as(self).contiguous();
    } else {
      to = self.is_contiguous() && same_dtype
               ? self
               : at::empty_like(self, self.options().dtype(source.scalar_type()),
                                at::MemoryFormat::Contiguous);
      from = source.expand_as(self).contiguous();
    }
    to._set_conj(self.is_conj());
    from._set_conj(source.is_conj());
    to._set_neg(self.is_neg());
    from._set_neg(source.is_neg());
    to.copy_(from, non_blocking);
    if (!to.is_same(self)) self.copy_(to, non_blocking);
    return;
  }
  copy_bytes(self, source, non_blocking);
  if (self.is_conj() != source.is_conj()) self.conj_physical_();
  if (self.is_neg() != source.is_neg()) self.neg_();
}

// Throws, as every copy does, if the source does not broadcast to the shape of the destination.
void check_broadcast(const Tensor& self, const Tensor& source) {
  at::TensorIteratorConfig()
      .add_output(self)
      .add_const_input(source)
      .resize_outputs(false)
      .check_all_same_dtype(false)
      .check_all_same_device(false)
      .build();
}

at::Scalar local_scalar_dense(const Tensor& self) {
  check_fork();
  wait_for_current_stream(self.get_device(), "Tensor.item");
  begin_kernel(self.get_device());
  Aliases aliases;
  return at::cpu::_local_scalar_dense(aliases.to_host(self));
}

}  // namespace

Tensor& copy_(Tensor& self, const Tensor& source, bool non_blocking) {
  check_fork();
  const bool is_strided = self.layout() == at::kStrided && source.layout() == at::kStrided &&
                          !self.is_quantized() && !source.is_quantized();
  const bool has_bytes = is_strided && !source._is_zerotensor() && !self.is_nested();
  if (has_bytes && self.is_cuda() != source.is_cuda()) {
    if (self.numel() == 0) return self;
    const at::AutoDispatchBelowADInplaceOrView below;
    const DeviceScope scope(self.is_cuda() ? self.get_device() : source.get_device());
    if (source.sizes() == self.sizes()) {
      copy_across(self, source, non_blocking);
    } else {
      check_broadcast(self, source);
      copy_across(self, source.expand_as(self), non_blocking);
    }
    return self;
  }
  if (self.is_cuda() != source.is_cuda()) {
    wait_for_current_stream(self.is_cuda() ? self.get_device() : source.get_device(), "cudaMemcpy");
  }
  copy_by_kernel(self, source);
  return self;
}

void add_copies(KernelTable& table) {
  table.add("copy_", copy_);
  table.add("_local_scalar_dense", local_scalar_dense);
}

}  // namespace ashore::emulator
