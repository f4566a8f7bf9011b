// Bring a tensor's elements ashore, through the installed package and the user's own LibTorch.
#include <ashore/ashore.hpp>

#include <ATen/ATen.h>

#include <cstdint>
#include <cstdio>

int main() {
  const at::Tensor tensor = at::arange(1, 4, at::kFloat);
  const std::int64_t shape[1] = {tensor.size(0)};
  const std::int64_t strides_bytes[1] = {tensor.stride(0) * 4};
  ashore::ArrayView view;
  view.data = tensor.data_ptr();
  view.layout = {1, shape, strides_bytes};

  const ashore::HostArray array = ashore::to_host(view).value();
  const auto* floats = static_cast<const float*>(array.data());
  std::printf("%g %g %g\n", floats[0], floats[1], floats[2]);
}
