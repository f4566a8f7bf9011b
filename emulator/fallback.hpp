// The kernel behind nearly every CUDA operator. Called by PyTorch's dispatcher.
#pragma once

#include <ATen/core/boxing/OperatorKernel.h>

#include "operator.hpp"

namespace ashore::emulator {

/// Check devices as CUDA does, run PyTorch's CPU kernel on aliases of the CUDA tensors, give the
/// results back as CUDA tensors.
class Fallback final : public c10::OperatorKernel {
 public:
  explicit Fallback(Operator op) : op_(std::move(op)) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);

 private:
  void apply_rules(const c10::OperatorHandle& handle, const torch::jit::Stack& stack,
                   std::size_t begin, std::uint64_t dtypes, int device) const;
  void run_host_kernel(const c10::OperatorHandle& handle, torch::jit::Stack* stack,
                       std::uint64_t dtypes) const;
  void run_asserting_kernel(const c10::OperatorHandle& handle, torch::jit::Stack* stack,
                            std::uint64_t dtypes) const;

  Operator op_;
};

/// Register it for every operator that has a kernel of the CUDA family in a PyTorch with CUDA, but
/// for those that have a kernel of their own here.
void install_fallback();

}  // namespace ashore::emulator
