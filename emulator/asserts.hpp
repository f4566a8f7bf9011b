// Values that CUDA's kernels assert on the device: the CPU's kernel raises at once, a GPU writes a
// line, goes on, and fails every later call. From tables/device_asserts.yaml. Called by the
// fallback.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>
#include <vector>

namespace ashore::emulator {

struct AssertRow;

/// The assertions in the kernel of "aten::gather.out"; null: none.
const std::vector<const AssertRow*>* find_asserts(const std::string& name);

/// Which of them stands for the CPU kernel's error; null: none.
const AssertRow* match_assert(const std::vector<const AssertRow*>& rows, const c10::Error& error);

/// Write the assertion's line to standard error and break the device: its next kernel, copy or wait
/// raises. With CUDA_LAUNCH_BLOCKING=1 throw at once.
void fail_assert(const AssertRow& row, const std::string& op, const c10::Error& error);

/// Put harmless values in place of those that the assertion is about, in arguments that are CPU
/// tensors already.
void make_harmless(const AssertRow& row, const c10::OperatorHandle& handle,
                   torch::jit::Stack& stack, std::size_t begin);

}  // namespace ashore::emulator
