// The pieces of nn.SyncBatchNorm, which only CUDA has, as compositions of operators: statistics of
// one process, their combination over all, and the two halves of the backward. Source of the
// formulas: aten/src/ATen/native/cuda/Normalization.cuh.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "checks.hpp"

namespace ashore::emulator {

namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

bool has(const OptionalTensor& tensor) { return tensor && tensor->defined(); }

at::ScalarType wide_type(const Tensor& input) {
  const at::ScalarType type = input.scalar_type();
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}
Tensor widen(const Tensor& input) { return input.to(wide_type(input)); }

// All dimensions but the channels'.
std::vector<std::int64_t> reduced_dims(const Tensor& input) {
  std::vector<std::int64_t> dims{0};
  for (std::int64_t i = 2; i < input.dim(); ++i) dims.push_back(i);
  return dims;
}
// One value per channel, to be combined with the input.
Tensor per_channel(const Tensor& values, const Tensor& input) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = -1;
  return values.to(wide_type(input)).view(shape);
}

std::tuple<Tensor, Tensor> stats(const Tensor& input, double eps) {
  const Tensor wide = widen(input);
  const auto dims = reduced_dims(input);
  const Tensor variance = at::var(wide, dims, /*unbiased=*/false);
  return {wide.mean(dims), (variance + eps).rsqrt()};
}

Tensor normalize(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                 const Tensor& mean, const Tensor& invstd, double /*eps*/) {
  Tensor result = (widen(input) - per_channel(mean, input)) * per_channel(invstd, input);
  if (has(weight)) result = result * per_channel(*weight, input);
  if (has(bias)) result = result + per_channel(*bias, input);
  return result.to(input.scalar_type());
}
Tensor& normalize_out(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                      const Tensor& mean, const Tensor& invstd, double eps, Tensor& out) {
  return out.copy_(normalize(input, weight, bias, mean, invstd, eps));
}

std::tuple<Tensor, Tensor> gather_with_counts(const Tensor& /*input*/, const Tensor& means,
                                              const Tensor& invstds,
                                              const OptionalTensor& running_mean,
                                              const OptionalTensor& running_var, double momentum,
                                              double eps, const Tensor& counts) {
  const Tensor count = counts.to(means.scalar_type()).view({-1, 1});
  const Tensor total = count.sum();
  const Tensor mean = (means * count).sum(0) / total;
  const Tensor variances = invstds.pow(-2) - eps;
  const Tensor squares = (count * (variances + (means - mean).square())).sum(0);
  if (has(running_mean)) running_mean->mul_(1 - momentum).add_(mean * momentum);
  if (has(running_var)) running_var->mul_(1 - momentum).add_(squares / (total - 1) * momentum);
  return {mean, (squares / total + eps).rsqrt()};
}
std::tuple<Tensor, Tensor> gather(const Tensor& input, const Tensor& means, const Tensor& invstds,
                                  const OptionalTensor& running_mean,
                                  const OptionalTensor& running_var, double momentum, double eps,
                                  std::int64_t count) {
  const Tensor counts = at::full({means.size(0)}, count, means.options());
  return gather_with_counts(input, means, invstds, running_mean, running_var, momentum, eps,
                            counts);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> backward_reduce(
    const Tensor& gradient, const Tensor& input, const Tensor& mean, const Tensor& invstd,
    const OptionalTensor& weight, bool /*wants_input*/, bool wants_weight, bool wants_bias) {
  const auto dims = reduced_dims(input);
  const Tensor wide = widen(gradient);
  const Tensor sum = wide.sum(dims);
  const Tensor product = (wide * (widen(input) - per_channel(mean, input))).sum(dims);
  Tensor of_weight;
  Tensor of_bias;
  if (has(weight)) {
    if (wants_weight) of_weight = (product * invstd).to(weight->scalar_type());
    if (wants_bias) of_bias = sum.to(weight->scalar_type());
  }
  return {sum, product, of_weight, of_bias};
}

Tensor backward_elements(const Tensor& gradient, const Tensor& input, const Tensor& mean,
                         const Tensor& invstd, const OptionalTensor& weight, const Tensor& sum,
                         const Tensor& product, const Tensor& counts) {
  const Tensor total = counts.sum().to(sum.scalar_type());
  const Tensor slope = product / total * invstd.square();
  Tensor result = widen(gradient) - per_channel(sum / total, input) -
                  (widen(input) - per_channel(mean, input)) * per_channel(slope, input);
  result = result * per_channel(invstd, input);
  if (has(weight)) result = result * per_channel(*weight, input);
  return result.to(input.scalar_type());
}

}  // namespace

void add_sync_batch_norm(KernelTable& table) {
  add_checked(table, "batch_norm_stats", stats);
  add_checked(table, "batch_norm_elemt", normalize);
  add_checked(table, "batch_norm_elemt.out", normalize_out);
  add_checked(table, "batch_norm_gather_stats", gather);
  add_checked(table, "batch_norm_gather_stats_with_counts", gather_with_counts);
  add_checked(table, "batch_norm_backward_reduce", backward_reduce);
  add_checked(table, "batch_norm_backward_elemt", backward_elements);
}

}  // namespace ashore::emulator
