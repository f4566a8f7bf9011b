// The fused cells of recurrent networks, which exist for CUDA only, as compositions. The layout of
// the workspace (gates in order i, f, g, o; r, z, n, hx, hn) is that of ATen/native/cuda/RNN.cu.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "checks.hpp"

namespace ashore::emulator {

namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

bool is_there(const OptionalTensor& tensor) { return tensor && tensor->defined(); }
Tensor plus(const Tensor& tensor, const OptionalTensor& bias) {
  return is_there(bias) ? tensor + *bias : tensor;
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                             const Tensor& cx, const OptionalTensor& input_bias,
                                             const OptionalTensor& hidden_bias) {
  const auto gates = plus(plus(input_gates, input_bias) + hidden_gates, hidden_bias).chunk(4, 1);
  const Tensor in = gates[0].sigmoid();
  const Tensor forget = gates[1].sigmoid();
  const Tensor cell = gates[2].tanh();
  const Tensor out = gates[3].sigmoid();
  const Tensor cy = forget * cx + in * cell;
  return {out * cy.tanh(), cy, at::cat({in, forget, cell, out}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const OptionalTensor& grad_hy,
                                                      const OptionalTensor& grad_cy,
                                                      const Tensor& cx, const Tensor& cy,
                                                      const Tensor& workspace, bool has_bias) {
  if (!is_there(grad_hy) && !is_there(grad_cy)) return {};
  const auto gates = workspace.chunk(4, 1);
  const Tensor &in = gates[0], &forget = gates[1], &cell = gates[2], &out = gates[3];
  const Tensor squashed = cy.tanh();
  const Tensor grad_h = is_there(grad_hy) ? *grad_hy : at::zeros_like(cx);
  const Tensor grad_c = plus(grad_h * out * (1 - squashed * squashed), grad_cy);
  const Tensor grad_gates =
      at::cat({grad_c * cell * in * (1 - in), grad_c * cx * forget * (1 - forget),
               grad_c * in * (1 - cell * cell), grad_h * squashed * out * (1 - out)},
              1);
  return {grad_gates, grad_c * forget, has_bias ? grad_gates.sum(0, false) : Tensor()};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                    const Tensor& hx, const OptionalTensor& input_bias,
                                    const OptionalTensor& hidden_bias) {
  const auto input = plus(input_gates, input_bias).chunk(3, 1);
  const auto hidden = plus(hidden_gates, hidden_bias).chunk(3, 1);
  const Tensor reset = (input[0] + hidden[0]).sigmoid();
  const Tensor update = (input[1] + hidden[1]).sigmoid();
  const Tensor next = (input[2] + reset * hidden[2]).tanh();
  return {next + update * (hx - next), at::cat({reset, update, next, hx, hidden[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy,
                                                                     const Tensor& workspace,
                                                                     bool has_bias) {
  const auto saved = workspace.chunk(5, 1);
  const Tensor &reset = saved[0], &update = saved[1], &next = saved[2], &hx = saved[3],
               &hidden = saved[4];
  const Tensor grad_update = grad_hy * (hx - next) * update * (1 - update);
  const Tensor grad_next = grad_hy * (1 - update) * (1 - next * next);
  const Tensor grad_reset = grad_next * hidden * reset * (1 - reset);
  const Tensor grad_input = at::cat({grad_reset, grad_update, grad_next}, 1);
  const Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_next * reset}, 1);
  const auto sum = [&](const Tensor& grad) { return has_bias ? grad.sum(0, false) : Tensor(); };
  return {grad_input, grad_hidden, grad_hy * update, sum(grad_input), sum(grad_hidden)};
}

}  // namespace

void add_recurrent_cells(KernelTable& table) {
  add_checked(table, "_thnn_fused_lstm_cell", lstm_cell);
  add_checked(table, "_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
  add_checked(table, "_thnn_fused_gru_cell", gru_cell);
  add_checked(table, "_thnn_fused_gru_cell_backward", gru_cell_backward);
}

}  // namespace ashore::emulator
