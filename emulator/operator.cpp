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
    "aten::_index_put_impl_",
    "aten::fill_.Tensor",
    "aten::remainder.Scalar_Tensor",
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

namespace {

void add_checks(Operator& made, const c10::OperatorHandle& handle, c10::DispatchKey key) {
  const bool is_dense = key == c10::DispatchKey::CUDA;
  if (is_dense) made.rules = find_rules(made.name);
  if (made.row->structured && handle.hasKernelForDispatchKey(c10::DispatchKey::Meta)) {
    // Importing torch replaces many Meta kernels by decompositions in Python, which would come back
    // here.
    made.meta =
        new c10::SafeKernelFunction(handle.getComputedKernelForDispatchKey(c10::DispatchKey::Meta));
  }
  if (made.row->device_check && (!is_dense || (made.row->keys & kCudaKey) != 0)) {
    made.check = DeviceCheck::kWrapper;
  } else if (!is_dense) {
    made.check = DeviceCheck::kNone;
  } else if (made.name.starts_with("aten::_foreach")) {
    made.check = DeviceCheck::kSlowPath;
  } else if (made.meta != nullptr) {
    made.check = DeviceCheck::kMeta;
  } else if (kDryRuns.contains(made.name)) {
    made.check = DeviceCheck::kDryRun;
  }
}

}  // namespace

Operator describe_operator(const c10::OperatorHandle& handle, c10::DispatchKey key) {
  const c10::FunctionSchema& schema = handle.schema();
  Operator made;
  made.name = schema.name();
  if (!schema.overload_name().empty()) made.name += "." + schema.overload_name();
  made.row = find_row(made.name);
  made.asserts = find_asserts(made.name);
  for (const at::Tag tag : handle.getTags()) {
    made.is_seeded |= tag == at::Tag::nondeterministic_seeded;
  }

  std::vector<int> out, positional;
  const auto& arguments = schema.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = arguments[i];
    const bool is_written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    made.is_written.push_back(is_written);
    if (argument.type()->str().find("Generator") != std::string::npos) {
      made.generator = static_cast<int>(i);
    }
    if (!argument.kwarg_only()) {
      positional.push_back(static_cast<int>(i));
    } else if (is_written) {
      out.push_back(static_cast<int>(i));
    }
  }
  // The order of torchgen's gen_device_check.
  made.check_order = std::move(out);
  made.check_order.insert(made.check_order.end(), positional.begin(), positional.end());

  if (made.row == nullptr) return made;
  made.method = key == c10::DispatchKey::CUDA
                    ? made.row->method
                    : std::string("wrapper_") + c10::toString(key) + "_" + made.row->generic;
  add_checks(made, handle, key);
  return made;
}

}  // namespace ashore::emulator
