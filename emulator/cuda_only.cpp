// Other operators that have a kernel for CUDA but none for the CPU, as compositions of ones that
// have.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/native/transformers/attention.h>

#include <limits>

#include "checks.hpp"
#include "generator.hpp"

namespace ashore::emulator {

namespace {

using at::IntArrayRef;
using at::Scalar;
using at::ScalarType;
using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

bool no_cudnn_ctc_loss(const Tensor&, const Tensor&, IntArrayRef, IntArrayRef, std::int64_t) {
  return false;
}
bool no_cudnn_ctc_loss_tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                              std::int64_t) {
  return false;
}

// The mathematical formula: flash and memory-efficient kernels are CUDA's own. With a mask CUDA
// takes the memory-efficient one, whose wrapper finds one of another device.
std::int64_t attention_choice(const Tensor& query, const Tensor& /*key*/, const Tensor& /*value*/,
                              const OptionalTensor& mask, double, bool, std::optional<double>,
                              bool) {
  if (mask && mask->defined()) {
    std::optional<at::Device> common = query.device();
    c10::impl::check_and_update_common_device(
        common, *mask, "wrapper_CUDA___scaled_dot_product_efficient_attention", "attn_bias");
  }
  return 0;
}

// Dropout as one kernel with a mask: PyTorch's CPU kernel would draw from the CPU's generator.
std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p,
                                          std::optional<bool> train) {
  if (input.numel() == 0) return {input, at::empty_like(input, input.options().dtype(at::kBool))};
  if (!train.value_or(true)) {
    return {input, at::ones_like(input, input.options().dtype(at::kBool))};
  }
  const double kept = 1 - p;
  const Tensor mask = at::empty_like(input, input.options().dtype(at::kBool)).bernoulli_(kept);
  const double scale = p == 1 ? 0 : 1 / kept;
  return {input.mul(mask).mul_(scale), mask};
}
std::tuple<Tensor, Tensor> fused_dropout(const Tensor& input, double kept,
                                         std::optional<at::Generator> generator) {
  const Tensor mask = at::empty_like(input).bernoulli_(kept, std::move(generator));
  return {input * mask / kept, mask.to(at::kByte)};
}
Tensor masked_scale(const Tensor& input, const Tensor& mask, double scale) {
  return input * mask.to(input.scalar_type()) * scale;
}

ScalarType accumulation_type(ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}
std::vector<std::int64_t> last_dims(std::size_t count) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 1; i <= count; ++i) dims.push_back(-static_cast<std::int64_t>(i));
  return dims;
}

std::tuple<Tensor, Tensor> rms_norm(const Tensor& input, IntArrayRef shape,
                                    const OptionalTensor& weight, std::optional<double> given_eps) {
  const ScalarType type = accumulation_type(input.scalar_type());
  const double eps = given_eps ? *given_eps
                     : type == at::kDouble
                         ? std::numeric_limits<double>::epsilon()
                         : static_cast<double>(std::numeric_limits<float>::epsilon());
  const Tensor wide = input.to(type);
  const Tensor rstd = (wide.pow(2).mean(last_dims(shape.size()), true) + eps).rsqrt();
  Tensor result = wide * rstd;
  if (weight && weight->defined()) result = result * weight->to(type);
  return {result.to(input.scalar_type()), rstd};
}

std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& gradient, const Tensor& input,
                                             IntArrayRef shape, const Tensor& rstd,
                                             const OptionalTensor& weight,
                                             std::array<bool, 2> wanted) {
  const ScalarType type = rstd.scalar_type();
  const bool has_weight = weight && weight->defined();
  const Tensor wide = gradient.to(type);
  const Tensor normal = input.to(type) * rstd;
  const Tensor scaled = has_weight ? wide * weight->to(type) : wide;
  Tensor of_input;
  Tensor of_weight;
  if (wanted[0]) {
    const Tensor mean = (scaled * normal).mean(last_dims(shape.size()), true);
    of_input = (rstd * (scaled - normal * mean)).to(input.scalar_type());
  }
  if (wanted[1] && has_weight) {
    of_weight = wide * normal;
    std::vector<std::int64_t> outer;
    for (std::int64_t i = 0; i < input.dim() - static_cast<std::int64_t>(shape.size()); ++i) {
      outer.push_back(i);
    }
    if (!outer.empty()) of_weight = of_weight.sum(outer);
    of_weight = of_weight.to(weight->scalar_type());
  }
  return {of_input, of_weight};
}

// Products with a result of another dtype.
Tensor mm_dtype(const Tensor& a, const Tensor& b, ScalarType type) {
  return at::mm(a.to(type), b.to(type));
}
Tensor& mm_dtype_out(const Tensor& a, const Tensor& b, ScalarType type, Tensor& out) {
  return at::mm_out(out, a.to(type), b.to(type));
}
Tensor bmm_dtype(const Tensor& a, const Tensor& b, ScalarType type) {
  return at::bmm(a.to(type), b.to(type));
}
Tensor& bmm_dtype_out(const Tensor& a, const Tensor& b, ScalarType type, Tensor& out) {
  return at::bmm_out(out, a.to(type), b.to(type));
}
Tensor addmm_dtype(const Tensor& self, const Tensor& a, const Tensor& b, ScalarType type,
                   const Scalar& beta, const Scalar& alpha) {
  return at::addmm(self.to(type), a.to(type), b.to(type), beta, alpha);
}
Tensor& addmm_dtype_out(const Tensor& self, const Tensor& a, const Tensor& b, ScalarType type,
                        const Scalar& beta, const Scalar& alpha, Tensor& out) {
  return at::addmm_out(out, self.to(type), a.to(type), b.to(type), beta, alpha);
}
Tensor baddbmm_dtype(const Tensor& self, const Tensor& a, const Tensor& b, ScalarType type,
                     const Scalar& beta, const Scalar& alpha) {
  return at::baddbmm(self.to(type), a.to(type), b.to(type), beta, alpha);
}
Tensor& baddbmm_dtype_out(const Tensor& self, const Tensor& a, const Tensor& b, ScalarType type,
                          const Scalar& beta, const Scalar& alpha, Tensor& out) {
  return at::baddbmm_out(out, self.to(type), a.to(type), b.to(type), beta, alpha);
}

}  // namespace

void add_cuda_only(KernelTable& table) {
  at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(attention_choice);
  table.add("_use_cudnn_ctc_loss", no_cudnn_ctc_loss);
  table.add("_use_cudnn_ctc_loss.Tensor", no_cudnn_ctc_loss_tensor);
  table.add("_use_miopen_ctc_loss", no_cudnn_ctc_loss);
  table.add("_use_miopen_ctc_loss.Tensor", no_cudnn_ctc_loss_tensor);
  add_checked(table, "_fused_sdp_choice", attention_choice);
  add_checked(table, "native_dropout", native_dropout);
  add_checked(table, "_fused_dropout", fused_dropout);
  add_checked(table, "_masked_scale", masked_scale);
  add_checked(table, "_fused_rms_norm", rms_norm);
  add_checked(table, "_fused_rms_norm_backward", rms_norm_backward);
  add_checked(table, "mm.dtype", mm_dtype);
  add_checked(table, "mm.dtype_out", mm_dtype_out);
  add_checked(table, "bmm.dtype", bmm_dtype);
  add_checked(table, "bmm.dtype_out", bmm_dtype_out);
  add_checked(table, "addmm.dtype", addmm_dtype);
  add_checked(table, "addmm.dtype_out", addmm_dtype_out);
  add_checked(table, "baddbmm.dtype", baddbmm_dtype);
  add_checked(table, "baddbmm.dtype_out", baddbmm_dtype_out);
}

}  // namespace ashore::emulator
