// CUDA tensors seen as CPU tensors over the same bytes, and CPU results given back as CUDA tensors.
// One object lives through one operator call.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "state.hpp"

namespace ashore::emulator {

class Aliases {
 public:
  /// The results go to this device; below 0: to that of the first tensor aliased, else to the
  /// current one.
  explicit Aliases(int device = -1) : device_(device) {}

  int device() const { return device_ < 0 ? tl_device : device_; }

  /// The CPU tensor over a CUDA tensor's bytes, of any layout; other tensors come back as they are.
  /// It keeps the bytes alive, also past the call.
  at::Tensor to_host(const at::Tensor& tensor);
  /// A kernel's result as a CUDA tensor: over the bytes of an argument, or over new ones.
  at::Tensor to_device(at::Tensor tensor);
  /// Give a CUDA tensor what a kernel did to its alias's shape, storage or members.
  void write_back(const at::Tensor& tensor, const at::Tensor& alias);
  /// Give a quantized tensor the quantizer of another.
  void copy_quantizer(const at::Tensor& to, const at::Tensor& from);

 private:
  struct Pair {
    c10::Storage on_device;
    c10::Storage on_host;
  };

  const c10::Storage& host_storage(const c10::Storage& on_device);
  c10::Storage device_storage(const c10::Storage& on_host);
  template <typename Convert>
  at::Tensor convert_members(const at::Tensor& tensor, bool to_cuda, Convert convert);

  c10::SmallVector<Pair, 4> pairs_;
  int device_;
};

/// An argument of one kernel, aliased for as long as this lives. What is a plain tensor costs
/// little: the alias is one that an earlier kernel of the thread used, and does not count as an
/// owner of the bytes, unless the kernel keeps it.
class BorrowedTensor {
 public:
  BorrowedTensor(Aliases& aliases, const at::Tensor& tensor);
  ~BorrowedTensor();
  BorrowedTensor(const BorrowedTensor&) = delete;
  BorrowedTensor& operator=(const BorrowedTensor&) = delete;

  at::Tensor& get() { return alias_; }

 private:
  at::Tensor alias_;
  c10::StorageImpl* owner_ = nullptr;  ///< of the bytes, where the alias is none
};

}  // namespace ashore::emulator
