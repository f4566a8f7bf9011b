// See checks.hpp.
#include "checks.hpp"

#include <ATen/core/op_registration/adaption.h>

namespace ashore::emulator {

namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

// What torchgen's wrapper does.
void check_common_device(const Operator& op, const c10::OperatorHandle& handle,
                         const torch::jit::Stack& stack, std::size_t begin) {
  std::optional<at::Device> common;
  const auto check = [&](const at::Tensor& tensor, const c10::Argument& argument) {
    c10::impl::check_and_update_common_device(common, tensor, op.method.c_str(),
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

// A kernel of our own behind the check of the operator's wrapper.
class Checked final : public c10::OperatorKernel {
 public:
  Checked(Operator op, c10::KernelFunction kernel)
      : op_(std::move(op)), kernel_(std::move(kernel)) {}
  void operator()(const c10::OperatorHandle& handle, DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    check_common_device(op_, handle, *stack, stack->size() - op_.is_written.size());
    kernel_.callBoxed(handle, keys, stack);
  }

 private:
  Operator op_;
  c10::KernelFunction kernel_;
};

}  // namespace

torch::CppFunction checked(const char* name, c10::KernelFunction kernel) {
  const std::string full = std::string("aten::") + name;
  const std::size_t dot = full.find('.');
  const c10::OperatorHandle handle = c10::Dispatcher::singleton().findSchemaOrThrow(
      full.substr(0, dot).c_str(), dot == full.npos ? "" : full.c_str() + dot + 1);
  Operator op = describe_operator(handle);
  TORCH_INTERNAL_ASSERT(op.check == DeviceCheck::kWrapper, full, " checks no devices");
  return torch::CppFunction::makeFromBoxedKernel(c10::BoxedKernel::makeFromFunctor(
      std::make_unique<Checked>(std::move(op), std::move(kernel))));
}

bool check_devices(const Operator& op, const c10::OperatorHandle& handle, torch::jit::Stack& stack,
                   std::size_t begin) {
  torch::jit::Stack copy(stack.begin() + static_cast<std::ptrdiff_t>(begin), stack.end());
  const auto make_own_checks = [&] {
    if (op.rules != nullptr) op.rules->check_devices(handle, stack, begin);
    return false;
  };
  switch (op.check) {
    case DeviceCheck::kNone:
      return make_own_checks();
    case DeviceCheck::kWrapper:
      check_common_device(op, handle, stack, begin);
      return make_own_checks();
    case DeviceCheck::kMeta:
      op.meta->callBoxed(handle, DispatchKeySet(DispatchKey::Meta), &copy);
      return make_own_checks();
    case DeviceCheck::kSlowPath:
      make_own_checks();
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
