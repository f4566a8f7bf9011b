// See operator.hpp.
#include "operator.hpp"

#include <ATen/core/enum_tag.h>

#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace ashore::emulator {

namespace {

constexpr OperatorRow kRows[] = {
#include "operators.inc"
};

// Operators without a generated check and without a structured Meta kernel, whose CPU kernel builds
// its TensorIterator before it touches memory: run on the tensors as they are, it raises the
// genuine error, or finds no kernel for CUDA, and then all is well.
const std::unordered_set<std::string_view> kDryRuns = {
    "aten::where.self",
    "aten::where.self_out",
    "aten::masked_fill_.Scalar",
    "aten::masked_fill_.Tensor",
    "aten::_index_put_impl_",
    "aten::fill_.Tensor",
    "aten::index_fill_.int_Tensor",
    "aten::binary_cross_entropy",
    "aten::floor_divide",
    "aten::floor_divide.out",
    "aten::floor_divide_.Tensor",
    "aten::logical_and.out",
    "aten::logical_or.out",
    "aten::logical_xor.out",
    "aten::remainder.Scalar_Tensor",
    "aten::rsub.Tensor",
    "aten::__lshift__.Tensor",
    "aten::__rshift__.Tensor",
    "aten::__ilshift__.Tensor",
    "aten::__irshift__.Tensor",
    "aten::abs.out",
    "aten::logical_not.out",
    "aten::angle.out",
};

// Operators whose CUDA kernels read a value or a count back.
const std::unordered_map<std::string_view, Waits> kWaits = {
    {"aten::nonzero", Waits::kAlways},
    {"aten::nonzero.out", Waits::kAlways},
    {"aten::masked_select", Waits::kAlways},
    {"aten::masked_select.out", Waits::kAlways},
    {"aten::_unique2", Waits::kAlways},
    {"aten::unique_dim", Waits::kAlways},
    {"aten::unique_consecutive", Waits::kAlways},
    {"aten::unique_dim_consecutive", Waits::kAlways},
    {"aten::equal", Waits::kAlways},
    {"aten::bincount", Waits::kAlways},
    {"aten::repeat_interleave.Tensor", Waits::kAlways},
    {"aten::_local_scalar_dense", Waits::kAlways},
    {"aten::index.Tensor", Waits::kForMasks},
    {"aten::index.Tensor_out", Waits::kForMasks},
    {"aten::_index_put_impl_", Waits::kForMasks},
};

}  // namespace

const OperatorRow* find_row(const std::string& name) {
  static const auto* rows = [] {
    auto* made = new std::unordered_map<std::string_view, const OperatorRow*>;
    for (const OperatorRow& row : kRows) made->emplace(row.name, &row);
    return made;
  }();
  const auto found = rows->find(name);
  return found == rows->end() ? nullptr : found->second;
}

Operator describe_operator(const c10::OperatorHandle& handle) {
  const c10::FunctionSchema& schema = handle.schema();
  Operator made;
  made.name = schema.name();
  if (!schema.overload_name().empty()) made.name += "." + schema.overload_name();
  made.row = find_row(made.name);
  const auto waits = kWaits.find(made.name);
  if (waits != kWaits.end()) made.waits = waits->second;
  for (const at::Tag tag : handle.getTags()) {
    made.is_seeded |= tag == at::Tag::nondeterministic_seeded;
  }

  std::vector<int> self, out, rest;
  const auto& arguments = schema.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = arguments[i];
    const bool is_written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    const int index = static_cast<int>(i);
    made.is_written.push_back(is_written);
    if (argument.type()->str().find("Generator") != std::string::npos) made.generator = index;
    const bool is_out = argument.kwarg_only() && is_written;
    (argument.name() == "self" ? self : is_out ? out : rest).push_back(index);
  }
  // The order of torchgen's gen_device_check: self, out arguments, the other ones.
  for (const auto* part : {&self, &out, &rest}) {
    made.check_order.insert(made.check_order.end(), part->begin(), part->end());
  }

  const bool has_kernel = made.row != nullptr && (made.row->keys & kCudaKey) != 0;
  if (has_kernel && made.row->device_check) {
    made.check = DeviceCheck::kWrapper;
  } else if (made.name.starts_with("aten::_foreach")) {
    made.check = DeviceCheck::kSlowPath;
  } else if (made.row != nullptr && made.row->structured &&
             handle.hasKernelForDispatchKey(c10::DispatchKey::Meta)) {
    made.check = DeviceCheck::kMeta;
    // Importing torch replaces many Meta kernels by decompositions in Python, which would come back
    // here.
    made.meta =
        new c10::SafeKernelFunction(handle.getComputedKernelForDispatchKey(c10::DispatchKey::Meta));
  } else if (kDryRuns.contains(made.name)) {
    made.check = DeviceCheck::kDryRun;
  }
  return made;
}

}  // namespace ashore::emulator
