// Bring a tensor ashore, through the installed package and the user's own LibTorch.
#include <ashore/torch.hpp>

#include <ATen/ATen.h>

#include <cstdio>

int main() {
  const at::Tensor tensor = at::arange(1, 4, at::kFloat);
  const ashore::HostArray array = ashore::to_host(tensor).value();
  const auto* floats = static_cast<const float*>(array.data());
  std::printf("%g %g %g\n", floats[0], floats[1], floats[2]);
}
