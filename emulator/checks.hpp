// Checks of devices as CUDA's kernels make them, with their words. Called by the fallback when the
// devices of an operator's tensors differ.
#pragma once

#include <ATen/core/stack.h>

#include "operator.hpp"

namespace ashore::emulator {

/// Throw what a real GPU would, or return false; true: the operator ran on the tensors as they are,
/// as it does there, and its results are on the stack in place of the arguments.
bool check_devices(const Operator& op, const c10::OperatorHandle& handle, torch::jit::Stack& stack,
                   std::size_t begin);

}  // namespace ashore::emulator
