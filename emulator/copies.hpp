// Copies between host and device.
#pragma once

#include <ATen/core/Tensor.h>

namespace ashore::emulator {

at::Tensor& copy_(at::Tensor& self, const at::Tensor& source, bool non_blocking);

}  // namespace ashore::emulator
