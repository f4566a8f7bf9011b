// Hot kernels of elementwise arithmetic and reductions.
#include <ATen/CPUFunctions.h>

#include "hot.hpp"

namespace ashore::emulator {

namespace {

using at::Scalar;
using at::Tensor;
using Unary = Tensor (*)(const Tensor&);
using UnaryInPlace = Tensor& (*)(Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using BinaryInPlace = Tensor& (*)(Tensor&, const Tensor&);
using Scaled = Tensor (*)(const Tensor&, const Tensor&, const Scalar&);
using ScaledInPlace = Tensor& (*)(Tensor&, const Tensor&, const Scalar&);
using WithScalar = Tensor (*)(const Tensor&, const Scalar&);
using WithScalarInPlace = Tensor& (*)(Tensor&, const Scalar&);
using Ternary = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Scalar&);
using TernaryInPlace = Tensor& (*)(Tensor&, const Tensor&, const Tensor&, const Scalar&);
using Reduction = Tensor (*)(const Tensor&, at::OptionalIntArrayRef, bool,
                             std::optional<at::ScalarType>);

constexpr HostScalars kOne = HostScalars::kOne;

template <Unary Function, UnaryInPlace InPlace>
void add_unary(KernelTable& table, const char* name) {
  add_hot<Function>(table, name, "");
  add_hot<InPlace>(table, (std::string(name) + "_").c_str(), "");
}

template <Binary Tensors, WithScalar Scalars>
void add_comparison(KernelTable& table, const char* name) {
  add_hot<Tensors, kOne>(table, name, "Tensor");
  add_hot<Scalars>(table, name, "Scalar");
}

}  // namespace

void add_hot_arithmetic(KernelTable& table) {
  add_hot<Scaled(at::cpu::add), kOne>(table, "add", "Tensor");
  add_hot<ScaledInPlace(at::cpu::add_), kOne>(table, "add_", "Tensor");
  add_hot<Scaled(at::cpu::sub), kOne>(table, "sub", "Tensor");
  add_hot<ScaledInPlace(at::cpu::sub_), kOne>(table, "sub_", "Tensor");
  add_hot<Binary(at::cpu::mul), kOne>(table, "mul", "Tensor");
  add_hot<BinaryInPlace(at::cpu::mul_), kOne>(table, "mul_", "Tensor");
  add_hot<Binary(at::cpu::div), kOne>(table, "div", "Tensor");
  add_hot<BinaryInPlace(at::cpu::div_), kOne>(table, "div_", "Tensor");
  add_hot<Binary(at::cpu::maximum), kOne>(table, "maximum", "");
  add_hot<Binary(at::cpu::minimum), kOne>(table, "minimum", "");

  add_comparison<at::cpu::eq, at::cpu::eq>(table, "eq");
  add_comparison<at::cpu::ne, at::cpu::ne>(table, "ne");
  add_comparison<at::cpu::lt, at::cpu::lt>(table, "lt");
  add_comparison<at::cpu::le, at::cpu::le>(table, "le");
  add_comparison<at::cpu::gt, at::cpu::gt>(table, "gt");
  add_comparison<at::cpu::ge, at::cpu::ge>(table, "ge");

  add_unary<at::cpu::exp, at::cpu::exp_>(table, "exp");
  add_unary<at::cpu::log, at::cpu::log_>(table, "log");
  add_unary<at::cpu::sqrt, at::cpu::sqrt_>(table, "sqrt");
  add_unary<at::cpu::rsqrt, at::cpu::rsqrt_>(table, "rsqrt");
  add_unary<at::cpu::neg, at::cpu::neg_>(table, "neg");
  add_unary<at::cpu::reciprocal, at::cpu::reciprocal_>(table, "reciprocal");
  add_unary<at::cpu::sin, at::cpu::sin_>(table, "sin");
  add_unary<at::cpu::cos, at::cpu::cos_>(table, "cos");

  add_hot<WithScalar(at::cpu::pow)>(table, "pow", "Tensor_Scalar");
  add_hot<WithScalar(at::cpu::clamp_min)>(table, "clamp_min", "");
  add_hot<WithScalarInPlace(at::cpu::clamp_min_)>(table, "clamp_min_", "");
  add_hot<WithScalarInPlace(at::cpu::fill_)>(table, "fill_", "Scalar");
  add_hot<UnaryInPlace(at::cpu::zero_)>(table, "zero_", "");
  add_hot<Ternary(at::cpu::addcmul)>(table, "addcmul", "");
  add_hot<TernaryInPlace(at::cpu::addcmul_)>(table, "addcmul_", "");
  add_hot<Ternary(at::cpu::addcdiv)>(table, "addcdiv", "");
  add_hot<TernaryInPlace(at::cpu::addcdiv_)>(table, "addcdiv_", "");
  add_hot<Scaled(at::cpu::lerp)>(table, "lerp", "Scalar");
  add_hot<ScaledInPlace(at::cpu::lerp_)>(table, "lerp_", "Scalar");

  add_hot<Reduction(at::cpu::sum)>(table, "sum", "dim_IntList");
  add_hot<Reduction(at::cpu::mean)>(table, "mean", "dim");
}

}  // namespace ashore::emulator
