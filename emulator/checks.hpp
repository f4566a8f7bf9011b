// Checks of devices as CUDA's kernels make them, with their words. Called by the fallback when the
// devices of an operator's tensors differ.
#pragma once

#include <ATen/core/stack.h>
#include <torch/library.h>

#include "kernels.hpp"
#include "operator.hpp"

namespace ashore::emulator {

/// Throw what a real GPU would, or return false; true: the operator ran on the tensors as they are,
/// as it does there, and its results are on the stack in place of the arguments.
bool check_devices(const Operator& op, const c10::OperatorHandle& handle, torch::jit::Stack& stack,
                   std::size_t begin);

/// A kernel of our own of that operator, behind the check that the wrapper of CUDA's makes.
torch::CppFunction checked(const char* name, c10::KernelFunction kernel);
template <typename Kernel>
void add_checked(KernelTable& table, const char* name, Kernel* kernel) {
  table.add(name, checked(name, c10::KernelFunction::makeFromUnboxedRuntimeFunction(kernel)));
}

/// The same for operators of sparse, compressed and nested tensors that check by themselves:
/// sums and products. layout_checks.cpp.
void check_layouts(const Operator& op, const torch::jit::Stack& stack, std::size_t begin);

}  // namespace ashore::emulator
