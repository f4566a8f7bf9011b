// Hot kernels over lists of tensors, as optimizers use them: one alias per element, then PyTorch's
// own kernels, which work element by element on the CPU.
#include <ATen/CompositeExplicitAutogradFunctions.h>

#include "hot.hpp"

namespace ashore::emulator {

namespace {

using at::Scalar;
using at::Tensor;
using at::TensorList;
using Scalars = at::ArrayRef<Scalar>;
using Tensors = std::vector<Tensor>;

namespace cpu = at::compositeexplicitautograd;

}  // namespace

void add_hot_lists(KernelTable& table) {
  using InPlaceList = void (*)(TensorList, TensorList);
  using InPlaceScalar = void (*)(TensorList, const Scalar&);
  using InPlaceScalars = void (*)(TensorList, Scalars);
  using InPlaceScaled = void (*)(TensorList, TensorList, const Scalar&);
  using InPlaceTernary = void (*)(TensorList, TensorList, TensorList, const Scalar&);
  using InPlaceTernaries = void (*)(TensorList, TensorList, TensorList, Scalars);
  using Unary = Tensors (*)(TensorList);
  using UnaryInPlace = void (*)(TensorList);
  using List = Tensors (*)(TensorList, TensorList);
  using Scaled = Tensors (*)(TensorList, TensorList, const Scalar&);

  add_hot<InPlaceScaled(cpu::_foreach_add_)>(table, "_foreach_add_", "List");
  add_hot<InPlaceScalar(cpu::_foreach_add_)>(table, "_foreach_add_", "Scalar");
  add_hot<Scaled(cpu::_foreach_add)>(table, "_foreach_add", "List");
  add_hot<InPlaceScaled(cpu::_foreach_sub_)>(table, "_foreach_sub_", "List");
  add_hot<InPlaceList(cpu::_foreach_mul_)>(table, "_foreach_mul_", "List");
  add_hot<InPlaceScalar(cpu::_foreach_mul_)>(table, "_foreach_mul_", "Scalar");
  add_hot<List(cpu::_foreach_mul)>(table, "_foreach_mul", "List");
  add_hot<InPlaceList(cpu::_foreach_div_)>(table, "_foreach_div_", "List");
  add_hot<InPlaceScalar(cpu::_foreach_div_)>(table, "_foreach_div_", "Scalar");
  add_hot<InPlaceScalars(cpu::_foreach_div_)>(table, "_foreach_div_", "ScalarList");
  add_hot<InPlaceTernary(cpu::_foreach_addcmul_)>(table, "_foreach_addcmul_", "Scalar");
  add_hot<InPlaceTernary(cpu::_foreach_addcdiv_)>(table, "_foreach_addcdiv_", "Scalar");
  add_hot<InPlaceTernaries(cpu::_foreach_addcdiv_)>(table, "_foreach_addcdiv_", "ScalarList");
  add_hot<InPlaceScaled(cpu::_foreach_lerp_)>(table, "_foreach_lerp_", "Scalar");
  add_hot<Unary(cpu::_foreach_sqrt)>(table, "_foreach_sqrt", "");
  add_hot<UnaryInPlace(cpu::_foreach_sqrt_)>(table, "_foreach_sqrt_", "");
  add_hot<UnaryInPlace(cpu::_foreach_zero_)>(table, "_foreach_zero_", "");
  add_hot<UnaryInPlace(cpu::_foreach_neg_)>(table, "_foreach_neg_", "");
  add_hot<UnaryInPlace(cpu::_foreach_reciprocal_)>(table, "_foreach_reciprocal_", "");
}

}  // namespace ashore::emulator
