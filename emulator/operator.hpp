// What the emulator knows of one PyTorch operator. Made once per operator by fallback.cpp.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <string>
#include <vector>

#include "asserts.hpp"
#include "rules.hpp"

namespace ashore::emulator {

/// A row of the table that generate_operators.py makes from the installed PyTorch: an operator that
/// has a kernel of the CUDA family there, and what its generated wrapper does.
struct OperatorRow {
  const char* name;  ///< "aten::add.Tensor"
  unsigned keys;     ///< kCudaKey | …
  bool device_check;
  bool structured;
  bool composite;
  const char* method;   ///< as error messages call the wrapper: "wrapper_CUDA_add"
  const char* generic;  ///< what other keys' wrappers are called after "wrapper_SparseCUDA_"
};
inline constexpr unsigned kCudaKey = 1, kSparseCudaKey = 2, kSparseCsrCudaKey = 4,
                          kQuantizedCudaKey = 8, kNestedTensorCudaKey = 16;

/// The row of an operator. Null: it has no kernel of the CUDA family.
const OperatorRow* find_row(const std::string& name);

/// How the devices of an operator's arguments are checked.
enum class DeviceCheck : std::uint8_t {
  kNone,
  kWrapper,   ///< as torchgen's wrapper does: one device for all
  kMeta,      ///< by the operator's Meta kernel, whose TensorIterator knows the rules
  kDryRun,    ///< by its CPU kernel, which checks before it touches memory
  kSlowPath,  ///< one operator per element of a list, each checking for itself
};

struct Operator {
  std::string name;
  const OperatorRow* row = nullptr;
  std::string method;  ///< as error messages call the wrapper for its key
  DeviceCheck check = DeviceCheck::kNone;
  const Rules* rules = nullptr;
  const std::vector<const AssertRow*>* asserts = nullptr;
  bool is_seeded = false;                   ///< draws random numbers
  int generator = -1;                       ///< the argument that is one
  std::vector<bool> is_written;             ///< of each argument
  std::vector<int> check_order;             ///< arguments as torchgen's wrapper checks them
  c10::SafeKernelFunction* meta = nullptr;  ///< kept from before Python replaced it
};

/// Describe an operator's kernel for one key of the CUDA family.
Operator describe_operator(const c10::OperatorHandle& handle,
                           c10::DispatchKey key = c10::DispatchKey::CUDA);

}  // namespace ashore::emulator
