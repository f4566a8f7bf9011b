// See checks.hpp.
#include "checks.hpp"

#include <ATen/core/op_registration/adaption.h>

namespace ashore::emulator {

namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

// What torchgen's wrapper does: self, then out, then the rest must be on one device.
void check_common_device(const Operator& op, const c10::OperatorHandle& handle,
                         const torch::jit::Stack& stack, std::size_t begin) {
  std::optional<at::Device> common;
  const auto check = [&](const at::Tensor& tensor, const c10::Argument& argument) {
    c10::impl::check_and_update_common_device(common, tensor, op.row->method,
                                              argument.name().c_str());
  };
  for (const int index : op.check_order) {
    const c10::IValue& value = stack[begin + static_cast<std::size_t>(index)];
    const c10::Argument& argument = handle.schema().arguments()[static_cast<std::size_t>(index)];
    if (value.isTensor()) {
      check(value.toTensor(), argument);
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) check(tensor, argument);
    } else if (value.isOptionalTensorList()) {
      for (const auto& tensor : value.toOptionalTensorVector()) {
        if (tensor) check(*tensor, argument);
      }
    }
  }
}

// An error that says no more than that a CPU kernel met CUDA tensors: its own checks have passed.
bool is_missing_kernel(const c10::Error& error) {
  const std::string words = error.what_without_backtrace();
  return words.find("DispatchStub") != std::string::npos ||
         words.find("Could not run") != std::string::npos;
}

}  // namespace

bool check_devices(const Operator& op, const c10::OperatorHandle& handle, torch::jit::Stack& stack,
                   std::size_t begin) {
  torch::jit::Stack copy(stack.begin() + static_cast<std::ptrdiff_t>(begin), stack.end());
  switch (op.check) {
    case DeviceCheck::kNone:
      return false;
    case DeviceCheck::kWrapper:
      check_common_device(op, handle, stack, begin);
      return false;
    case DeviceCheck::kMeta:
      op.meta->callBoxed(handle, DispatchKeySet(DispatchKey::Meta), &copy);
      return false;
    case DeviceCheck::kSlowPath:
      handle.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), &stack);
      return true;
    case DeviceCheck::kDryRun:
      break;
  }
  try {
    handle.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), &copy);
  } catch (const c10::AcceleratorError&) {
    return false;  // a PyTorch with CUDA: its kernel met no driver
  } catch (const c10::Error& error) {
    if (!is_missing_kernel(error)) throw;
    return false;
  }
  // The kernel decided for the CPU (or went through other operators) and is done: not twice.
  stack.resize(begin);
  stack.insert(stack.end(), copy.begin(), copy.end());
  return true;
}

}  // namespace ashore::emulator
