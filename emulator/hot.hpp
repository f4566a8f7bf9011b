// Kernels without boxing: the same as the fallback for the plain case (dense tensors of one
// device), and the fallback itself for every other. Used for operators on whose overhead small
// models spend their time.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <tuple>
#include <vector>

#include "alias.hpp"
#include "fallback.hpp"
#include "kernels.hpp"
#include "streams.hpp"

namespace ashore::emulator {

/// The devices of a call's tensors, as far as the plain case needs to know.
struct Plain {
  int device = -1;
  bool is_plain = true;
  int host_scalars = 0;
  std::uint64_t dtypes = 0;

  void look(const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    const c10::DispatchKeySet keys = tensor.unsafeGetTensorImpl()->key_set();
    dtypes |= dtype_bit(tensor.scalar_type());
    if (C10_LIKELY(tensor.is_cuda())) {
      const int found = tensor.get_device();
      if (device < 0) device = found;
      is_plain &= found == device && keys.has(c10::DispatchKey::Dense) &&
                  !keys.has(c10::DispatchKey::ZeroTensor);
    } else {
      is_plain &= tensor.is_cpu() && tensor.dim() == 0;
      ++host_scalars;
    }
  }
  void look(const std::optional<at::Tensor>& tensor) {
    if (tensor) look(*tensor);
  }
  void look(at::TensorList tensors) {
    for (const at::Tensor& tensor : tensors) look(tensor);
  }
  template <typename Other>
  void look(const Other& /*value*/) {}
};

// An argument as the CPU kernel takes it: an alias where it is a tensor, else itself.
template <typename Argument>
struct Given {
  Aliases& aliases;
  Argument argument;
};
template <typename Argument>
struct HostArgument {
  explicit HostArgument(Given<Argument> given) : value(given.argument) {}
  Argument get() { return value; }
  Argument value;
};
template <>
struct HostArgument<const at::Tensor&> {
  explicit HostArgument(Given<const at::Tensor&> given) : value(given.aliases, given.argument) {}
  const at::Tensor& get() { return value.get(); }
  BorrowedTensor value;
};
template <>
struct HostArgument<at::Tensor&> {
  explicit HostArgument(Given<at::Tensor&> given) : value(given.aliases, given.argument) {}
  at::Tensor& get() { return value.get(); }
  BorrowedTensor value;
};
template <>
struct HostArgument<const std::optional<at::Tensor>&> {
  explicit HostArgument(Given<const std::optional<at::Tensor>&> given) {
    if (given.argument) value = given.aliases.to_host(*given.argument);
  }
  const std::optional<at::Tensor>& get() { return value; }
  std::optional<at::Tensor> value;
};
template <>
struct HostArgument<at::TensorList> {
  explicit HostArgument(Given<at::TensorList> given) {
    value.reserve(given.argument.size());
    for (const at::Tensor& tensor : given.argument) value.push_back(given.aliases.to_host(tensor));
  }
  at::TensorList get() { return value; }
  std::vector<at::Tensor> value;
};

inline at::Tensor give_back(Aliases& aliases, at::Tensor result) {
  return aliases.to_device(std::move(result));
}
inline std::vector<at::Tensor> give_back(Aliases& aliases, std::vector<at::Tensor> results) {
  for (at::Tensor& result : results) result = aliases.to_device(std::move(result));
  return results;
}
template <typename... Tensors>
std::tuple<Tensors...> give_back(Aliases& aliases, std::tuple<Tensors...> results) {
  return std::apply(
      [&](Tensors&... each) { return std::tuple(aliases.to_device(std::move(each))...); }, results);
}

/// How many CPU scalars a kernel takes among CUDA tensors: TensorIterator's take one.
enum class HostScalars : int { kNone = 0, kOne = 1 };

template <auto Function, HostScalars scalars>
struct Hot;

template <typename Return, typename... Arguments, Return (*Function)(Arguments...),
          HostScalars scalars>
struct Hot<Function, scalars> {
  static constexpr bool kInPlace = std::is_same_v<Return, at::Tensor&>;
  inline static const c10::OperatorHandle* handle = nullptr;
  inline static const c10::KernelFunction* fallback = nullptr;
  inline static std::uint64_t refused_dtypes = 0;  // by CUDA's kernel
  inline static bool asserts = false;              // some of its values, on the device

  static Return call(Arguments... arguments) {
    Plain plain;
    (plain.look(arguments), ...);
    bool is_plain = plain.is_plain && plain.device >= 0 &&
                    plain.host_scalars <= static_cast<int>(scalars) && !is_forked() &&
                    (plain.dtypes & refused_dtypes) == 0;
    if constexpr (kInPlace) is_plain &= std::get<0>(std::tie(arguments...)).is_cuda();
    if (C10_UNLIKELY(!is_plain)) {
      return call_fallback(std::forward<Arguments>(arguments)...);
    }
    begin_kernel(plain.device);
    Aliases aliases(plain.device);
    std::tuple<HostArgument<Arguments>...> host(Given<Arguments>{aliases, arguments}...);
    const KernelScope kernel(plain.device);
    const auto run = [](HostArgument<Arguments>&... each) -> Return {
      return Function(each.get()...);
    };
    if constexpr (kInPlace) {
      std::apply(run, host);
      return std::get<0>(std::tie(arguments...));
    } else if constexpr (std::is_void_v<Return>) {
      std::apply(run, host);
    } else {
      try {
        return give_back(aliases, std::apply(run, host));
      } catch (const c10::Error&) {
        if (!asserts) throw;
      }
      return call_fallback(std::forward<Arguments>(arguments)...);
    }
  }

 private:
  static Return call_fallback(Arguments... arguments) {
    return fallback->template call<Return, Arguments...>(
        *handle, c10::DispatchKeySet(c10::DispatchKey::CUDA),
        std::forward<Arguments>(arguments)...);
  }
};

/// Register `Function`, one of PyTorch's CPU kernels, as the hot kernel of an operator.
template <auto Function, HostScalars scalars = HostScalars::kNone>
void add_hot(KernelTable& table, const char* name, const char* overload) {
  using Kernel = Hot<Function, scalars>;
  const auto handle =
      c10::Dispatcher::singleton().findSchema({std::string("aten::") + name, overload});
  TORCH_INTERNAL_ASSERT(handle, "no operator aten::", name, ".", overload);
  Kernel::handle = new c10::OperatorHandle(*handle);
  Operator op = describe_operator(*handle);
  Kernel::asserts = op.asserts != nullptr;
  if (op.rules != nullptr) Kernel::refused_dtypes = op.rules->refused_dtypes;
  Kernel::fallback = new c10::KernelFunction(
      c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<Fallback>(std::move(op))));
  const std::string full = *overload == '\0' ? name : std::string(name) + "." + overload;
  table.add(full.c_str(), Kernel::call);
}

void add_hot_arithmetic(KernelTable& table);  ///< hot_arithmetic.cpp
void add_hot_network(KernelTable& table);     ///< hot_network.cpp
void add_hot_lists(KernelTable& table);       ///< hot_lists.cpp

}  // namespace ashore::emulator
