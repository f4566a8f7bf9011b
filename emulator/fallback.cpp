// See fallback.hpp.
#include "fallback.hpp"

#include <ATen/core/LegacyTypeDispatch.h>

#include <unordered_set>

#include "alias.hpp"
#include "checks.hpp"
#include "generator.hpp"
#include "kernels.hpp"
#include "streams.hpp"

namespace ashore::emulator {

namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;

template <typename Visit>
void for_each_tensor(const IValue& value, Visit visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const Tensor& tensor : value.toTensorList()) visit(tensor);
  } else if (value.isOptionalTensorList()) {
    for (const auto& tensor : value.toOptionalTensorVector()) {
      if (tensor) visit(*tensor);
    }
  }
}

// The devices and layouts of an operator's tensors.
struct Census {
  int device = -1;  // of the first CUDA tensor
  bool is_mixed = false;
  bool has_host = false;
  bool has_tensor = false;
  std::uint64_t dtypes = 0;
  bool is_special = false;  // sparse, compressed, nested, quantized, zero

  void count(const Tensor& tensor) {
    if (!tensor.defined()) return;
    has_tensor = true;
    dtypes |= dtype_bit(tensor.scalar_type());
    if (tensor.is_cpu()) {
      has_host = true;
      return;
    }
    if (!tensor.is_cuda()) return;
    const int found = tensor.get_device();
    is_mixed |= device >= 0 && device != found;
    if (device < 0) device = found;
    const DispatchKeySet keys = tensor.unsafeGetTensorImpl()->key_set();
    is_special |= !keys.has(DispatchKey::Dense) || keys.has(DispatchKey::ZeroTensor);
  }
  bool differs() const { return device >= 0 && (has_host || is_mixed); }
};

// One call: the arguments on the stack become aliases, the results CUDA tensors.
class Call {
 public:
  /// Without `draws`, generators stay as they are: they are for CPU tensors, whose kernel refuses
  /// CUDA's.
  Call(const Operator& op, torch::jit::Stack& stack, std::size_t begin, int device, bool draws)
      : op_(op), stack_(stack), begin_(begin), draws_(draws), aliases_(device) {}

  int device() const { return aliases_.device(); }

  void convert_arguments() {
    for (std::size_t i = begin_; i < stack_.size(); ++i)
      convert(stack_[i], op_.is_written[i - begin_]);
  }

  void convert_results(std::size_t count) {
    for (const Known& known : known_) {
      if (known.is_written) aliases_.write_back(known.tensor, known.alias);
    }
    for (std::size_t i = stack_.size() - count; i < stack_.size(); ++i) {
      IValue& value = stack_[i];
      if (value.isTensor()) {
        value = result(std::move(value).toTensor());
      } else if (value.isTensorList()) {
        c10::List<Tensor> list;
        for (Tensor& tensor : std::move(value).toTensorVector())
          list.push_back(result(std::move(tensor)));
        value = std::move(list);
      }
    }
  }

 private:
  struct Known {
    Tensor tensor;
    Tensor alias;
    bool is_written;
  };

  Tensor argument(const Tensor& tensor, bool is_written) {
    if (!tensor.defined() || !tensor.is_cuda()) return tensor;
    Tensor alias = aliases_.to_host(tensor);
    known_.push_back({tensor, alias, is_written});
    return alias;
  }

  void convert(IValue& value, bool is_written) {
    if (value.isTensor()) {
      const Tensor& tensor = value.toTensor();
      if (tensor.defined() && tensor.is_cuda()) value = argument(tensor, is_written);
    } else if (value.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& tensor : value.toTensorVector())
        list.push_back(argument(tensor, is_written));
      value = std::move(list);
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<Tensor>> list;
      for (const auto& tensor : value.toOptionalTensorVector()) {
        list.push_back(tensor ? std::optional(argument(*tensor, is_written)) : std::nullopt);
      }
      value = std::move(list);
    } else if (value.isDevice() && value.toDevice().is_cuda()) {
      value = c10::Device(c10::DeviceType::CPU);
    } else if (value.isGenerator() && draws_) {
      value = draw(value.toGenerator(), device());
    }
  }

  // A result that is an argument stays that argument.
  Tensor result(Tensor tensor) {
    if (!tensor.defined()) return tensor;
    for (const Known& known : known_) {
      if (known.alias.is_same(tensor)) return known.tensor;
    }
    return aliases_.to_device(std::move(tensor));
  }

  const Operator& op_;
  torch::jit::Stack& stack_;
  std::size_t begin_;
  bool draws_;
  Aliases aliases_;
  c10::SmallVector<Known, 6> known_;
};

// The device that a call without CUDA tensors is for: a factory's argument, else the current one.
int device_argument(const torch::jit::Stack& stack, std::size_t begin) {
  for (std::size_t i = begin; i < stack.size(); ++i) {
    if (!stack[i].isDevice() || !stack[i].toDevice().is_cuda()) continue;
    const int index = stack[i].toDevice().index();
    if (index == -1) break;
    check_device(index);
    return index;
  }
  return tl_device;
}

}  // namespace

void Fallback::operator()(const c10::OperatorHandle& handle, DispatchKeySet keys,
                          torch::jit::Stack* stack) {
  check_fork();
  const std::size_t begin = stack->size() - op_.is_written.size();
  Census census;
  for (std::size_t i = begin; i < stack->size(); ++i) {
    for_each_tensor((*stack)[i], [&](const Tensor& tensor) { census.count(tensor); });
  }
  const bool is_dense = keys.highestPriorityTypeId() == DispatchKey::CUDA && !census.is_special;
  if (C10_UNLIKELY(census.differs()) && (is_dense || op_.check == DeviceCheck::kWrapper) &&
      check_devices(op_, handle, *stack, begin)) {
    return;
  }

  if (C10_UNLIKELY(census.differs()) && !is_dense) check_layouts(op_, *stack, begin);

  const int device = census.device < 0 ? device_argument(*stack, begin) : census.device;
  begin_kernel(device);
  if (C10_UNLIKELY(op_.rules != nullptr) && is_dense) {
    apply_rules(handle, *stack, begin, census.dtypes, device);
  }

  Call call(op_, *stack, begin, device, census.device >= 0 || !census.has_tensor);
  call.convert_arguments();
  std::optional<DefaultGeneratorScope> random;
  if (C10_UNLIKELY(op_.is_seeded)) {
    if (op_.generator < 0) {
      random.emplace(device);
    } else if (IValue& generator = (*stack)[begin + static_cast<std::size_t>(op_.generator)];
               generator.isNone()) {
      generator = draw(std::nullopt, device);
    }
  }
  {
    const KernelScope kernel(device);
    if (C10_LIKELY(is_dense && census.has_tensor)) {
      if (C10_UNLIKELY(op_.asserts != nullptr)) {
        run_asserting_kernel(handle, stack, census.dtypes);
      } else {
        run_host_kernel(handle, stack, census.dtypes);
      }
    } else {  // let the dispatcher find the kernel for the layout
      const at::AutoDispatchBelowADInplaceOrView below;
      handle.callBoxed(stack);
    }
  }
  call.convert_results(handle.schema().returns().size());
}

// What CUDA's kernel does and the CPU's does not.
void Fallback::apply_rules(const c10::OperatorHandle& handle, const torch::jit::Stack& stack,
                           std::size_t begin, std::uint64_t dtypes, int device) const {
  const Rules& rules = *op_.rules;
  if (C10_UNLIKELY((rules.gap_dtypes & dtypes) != 0)) {
    rules.refuse_dtypes(handle, stack, begin, op_.meta);
  }
  if (C10_UNLIKELY(rules.checks_always)) rules.check_devices(handle, stack, begin);
  const NamedArguments arguments(handle, stack, begin);
  if (C10_UNLIKELY(rules.nondeterministic != nullptr)) rules.alert(arguments);
  if (rules.waits != nullptr && arguments.hold(rules.waits)) {
    wait_for_current_stream(device, op_.name.c_str());
  }
}

void Fallback::run_host_kernel(const c10::OperatorHandle& handle, torch::jit::Stack* stack,
                               std::uint64_t dtypes) const {
  try {
    handle.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), stack);
  } catch (const c10::Error& error) {
    if (op_.rules != nullptr) op_.rules->throw_in_cuda_words(error, dtypes);
    throw;
  }
}

// Where the CPU's kernel refuses values that CUDA's asserts on the device, the device breaks and
// the program goes on with results that mean nothing.
void Fallback::run_asserting_kernel(const c10::OperatorHandle& handle, torch::jit::Stack* stack,
                                    std::uint64_t dtypes) const {
  const std::size_t begin = stack->size() - op_.is_written.size();
  torch::jit::Stack copy(stack->begin() + static_cast<std::ptrdiff_t>(begin), stack->end());
  try {
    run_host_kernel(handle, stack, dtypes);
    return;
  } catch (const c10::Error& error) {
    const AssertRow* row = match_assert(*op_.asserts, error);
    if (row == nullptr) throw;
    fail_assert(*row, op_.name, error);
    stack->resize(begin);
    if (op_.is_written.front()) {  // in place: what is there stays
      stack->push_back(copy.front());
      return;
    }
    make_harmless(*row, handle, copy, 0);
  }
  stack->insert(stack->end(), copy.begin(), copy.end());
  try {
    handle.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), stack);
  } catch (const c10::Error&) {
    check_broken();
    throw;
  }
}

void install_fallback() {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  static auto* handles = new std::vector<c10::RegistrationHandleRAII>;  // registered for good
  constexpr struct {
    unsigned key;
    DispatchKey dispatch_key;
  } kKeys[] = {{kCudaKey, DispatchKey::CUDA},
               {kSparseCudaKey, DispatchKey::SparseCUDA},
               {kSparseCsrCudaKey, DispatchKey::SparseCsrCUDA},
               {kQuantizedCudaKey, DispatchKey::QuantizedCUDA},
               {kNestedTensorCudaKey, DispatchKey::NestedTensorCUDA}};
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto handle = dispatcher.findOp(name);
    if (!handle || !handle->hasSchema()) continue;
    const std::string full =
        name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
    const OperatorRow* row = find_row(full);
    if (row == nullptr) continue;
    for (const auto& [key, dispatch_key] : kKeys) {
      if ((row->keys & key) == 0) continue;
      if (dispatch_key == DispatchKey::CUDA && has_own_kernel(full)) continue;
      handles->push_back(dispatcher.registerImpl(
          name, dispatch_key,
          c10::KernelFunction::makeFromBoxedFunctor(
              std::make_unique<Fallback>(describe_operator(*handle, dispatch_key))),
          std::nullopt, nullptr, "ashore"));
    }
  }
}

}  // namespace ashore::emulator
