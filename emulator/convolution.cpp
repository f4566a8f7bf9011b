// Convolutions: PyTorch's own choice of algorithm would call kernels that only cuDNN has.
#include <ATen/NativeFunctions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

#include "alias.hpp"
#include "hooks.hpp"
#include "kernels.hpp"
#include "streams.hpp"

namespace ashore::emulator {

namespace {

using at::Tensor;
using Sizes = c10::SymIntArrayRef;

bool are_alike(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  const auto is_like_input = [&](const Tensor& other) {
    return other.device() == input.device() && other.scalar_type() == input.scalar_type();
  };
  return input.is_cuda() && is_like_input(weight) &&
         (!bias || !bias->defined() || is_like_input(*bias));
}

// cuDNN's words; of the dtypes that it knows, some are for its quantized layers alone.
void check_dtype(at::ScalarType type) {
  using at::ScalarType;
  const bool is_known = at::isFloatingType(type) || at::isComplexType(type) ||
                        type == ScalarType::Int || type == ScalarType::Byte ||
                        type == ScalarType::Char;
  TORCH_CHECK(is_known, "getCudnnDataTypeFromScalarType() not supported for ", toString(type));
}

Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                   Sizes stride, Sizes padding, Sizes dilation, bool transposed,
                   Sizes output_padding, c10::SymInt groups) {
  check_fork();
  if (C10_UNLIKELY(!are_alike(input, weight, bias))) {
    // The composite kernel, on its way to cuDNN, has words of its own for this.
    const CudnnScope pretend;
    return at::native::convolution(
        input, weight, bias, C10_AS_INTARRAYREF_SLOW(stride), C10_AS_INTARRAYREF_SLOW(padding),
        C10_AS_INTARRAYREF_SLOW(dilation), transposed, C10_AS_INTARRAYREF_SLOW(output_padding),
        groups.guard_int(__FILE__, __LINE__));
  }
  check_dtype(input.scalar_type());
  begin_kernel(input.get_device());
  Aliases aliases;
  const Tensor input_alias = aliases.to_host(input);
  const Tensor weight_alias = aliases.to_host(weight);
  const auto bias_alias = bias ? std::optional(aliases.to_host(*bias)) : std::nullopt;
  const KernelScope kernel(aliases.device());
  const at::AutoDispatchBelowADInplaceOrView below;
  return aliases.to_device(at::convolution_symint(input_alias, weight_alias, bias_alias, stride,
                                                  padding, dilation, transposed, output_padding,
                                                  groups));
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& gradient, const Tensor& input, const Tensor& weight,
    at::OptionalSymIntArrayRef bias_sizes, Sizes stride, Sizes padding, Sizes dilation,
    bool transposed, Sizes output_padding, c10::SymInt groups, std::array<bool, 3> wanted) {
  check_fork();
  begin_kernel(input.get_device());
  Aliases aliases;
  const Tensor gradient_alias = aliases.to_host(gradient);
  const Tensor input_alias = aliases.to_host(input);
  const Tensor weight_alias = aliases.to_host(weight);
  const KernelScope kernel(aliases.device());
  const at::AutoDispatchBelowADInplaceOrView below;
  auto [of_input, of_weight, of_bias] = at::convolution_backward_symint(
      gradient_alias, input_alias, weight_alias, bias_sizes, stride, padding, dilation, transposed,
      output_padding, groups, wanted);
  return {aliases.to_device(std::move(of_input)), aliases.to_device(std::move(of_weight)),
          aliases.to_device(std::move(of_bias))};
}

}  // namespace

void add_convolutions(KernelTable& table) {
  table.add("convolution", convolution);
  table.add("convolution_backward", convolution_backward);
}

}  // namespace ashore::emulator
