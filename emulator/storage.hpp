// Kernels that change what a tensor's storage is, and views.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace ashore::emulator {

at::Tensor quantized_as_strided(const at::Tensor& self, c10::SymIntArrayRef size,
                                c10::SymIntArrayRef stride, std::optional<c10::SymInt> offset);

}  // namespace ashore::emulator
