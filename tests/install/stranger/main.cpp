// Bring a transposed float32 view ashore as float64, through the installed package alone.
#include <ashore/ashore.hpp>

#include <cstdint>
#include <cstdio>

int main() {
  float values[6] = {1, 2, 3, 4, 5, 6};
  const std::int64_t shape[2] = {3, 2};
  const std::int64_t strides_bytes[2] = {4, 12};
  ashore::ArrayView view;
  view.data = values;
  view.layout = {2, shape, strides_bytes};

  ashore::Options options;
  options.dtype = ashore::DType::kFloat64;
  options.order = ashore::Order::kRowMajor;
  const ashore::HostArray array = ashore::to_host(view, options).value();

  const auto* doubles = static_cast<const double*>(array.data());
  for (std::int64_t i = 0; i < array.count(); ++i) std::printf("%g ", doubles[i]);
  std::printf("with %s\n", ashore::version());
}
