// Hot kernels of networks: products, activations, normalisations, losses.
#include <ATen/CPUFunctions.h>

#include "hot.hpp"

namespace ashore::emulator {

namespace {

using at::Scalar;
using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using Unary = Tensor (*)(const Tensor&);
using UnaryInPlace = Tensor& (*)(Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Gradient = Tensor (*)(const Tensor&, const Tensor&, const Scalar&);
using Softmax = Tensor (*)(const Tensor&, std::int64_t, bool);
using SoftmaxBackward = Tensor (*)(const Tensor&, const Tensor&, std::int64_t, at::ScalarType);

// CUDA's kernels take half and give float on request (autocast asks for it); the CPU's do not.
template <Softmax kernel>
Tensor softmax(const Tensor& input, std::int64_t dim, bool half_to_float) {
  return kernel(half_to_float ? input.to(at::kFloat) : input, dim, false);
}
template <SoftmaxBackward kernel>
Tensor softmax_backward(const Tensor& gradient, const Tensor& output, std::int64_t dim,
                        at::ScalarType type) {
  return kernel(gradient, output, dim, gradient.scalar_type()).to(type);
}

}  // namespace

void add_hot_network(KernelTable& table) {
  add_hot<Binary(at::cpu::mm)>(table, "mm", "");
  add_hot<Binary(at::cpu::bmm)>(table, "bmm", "");
  add_hot<static_cast<Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Scalar&,
                                 const Scalar&)>(at::cpu::addmm)>(table, "addmm", "");

  add_hot<Unary(at::cpu::relu)>(table, "relu", "");
  add_hot<UnaryInPlace(at::cpu::relu_)>(table, "relu_", "");
  add_hot<Gradient(at::cpu::threshold_backward)>(table, "threshold_backward", "");
  add_hot<Unary(at::cpu::sigmoid)>(table, "sigmoid", "");
  add_hot<Binary(at::cpu::sigmoid_backward)>(table, "sigmoid_backward", "");
  add_hot<Unary(at::cpu::tanh)>(table, "tanh", "");
  add_hot<Binary(at::cpu::tanh_backward)>(table, "tanh_backward", "");
  add_hot<Unary(at::cpu::silu)>(table, "silu", "");
  add_hot<static_cast<Tensor (*)(const Tensor&, c10::string_view)>(at::cpu::gelu)>(table, "gelu",
                                                                                   "");
  add_hot<static_cast<Tensor (*)(const Tensor&, const Tensor&, c10::string_view)>(
      at::cpu::gelu_backward)>(table, "gelu_backward", "");

  add_hot<softmax<at::cpu::_softmax>>(table, "_softmax", "");
  add_hot<softmax_backward<at::cpu::_softmax_backward_data>>(table, "_softmax_backward_data", "");
  add_hot<softmax<at::cpu::_log_softmax>>(table, "_log_softmax", "");
  add_hot<softmax_backward<at::cpu::_log_softmax_backward_data>>(table,
                                                                 "_log_softmax_backward_data", "");

  add_hot<at::cpu::nll_loss_forward_symint>(table, "nll_loss_forward", "");
  add_hot<at::cpu::nll_loss_backward_symint>(table, "nll_loss_backward", "");
  add_hot<at::cpu::native_layer_norm_symint>(table, "native_layer_norm", "");
  add_hot<static_cast<Tensor (*)(const Tensor&, std::int64_t, const Tensor&)>(
      at::cpu::index_select)>(table, "index_select", "");
}

}  // namespace ashore::emulator
