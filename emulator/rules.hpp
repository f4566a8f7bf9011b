// Where CUDA's kernels behave otherwise than the CPU's: dtypes that they refuse, devices that they
// check by themselves, where they make the host wait, what they cannot repeat. From the tables that
// generate_rules.py makes. Called by the fallback.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ashore::emulator {

/// The arguments of one call, by name.
class NamedArguments {
 public:
  NamedArguments(const c10::OperatorHandle& handle, const torch::jit::Stack& stack,
                 std::size_t begin)
      : handle_(handle), stack_(stack), begin_(begin) {}

  /// Null: there is none of that name.
  const c10::IValue* find(std::string_view name) const;
  /// All tensors of an argument; "list[0]" names the first of a list. Undefined ones are left out.
  std::vector<at::Tensor> tensors(std::string_view name) const;
  std::vector<at::Tensor> all_tensors() const;
  /// Whether a condition of the tables holds.
  bool hold(std::string_view condition) const;

 private:
  const c10::OperatorHandle& handle_;
  const torch::jit::Stack& stack_;
  std::size_t begin_;
};

struct DtypeRow;
struct OwnCheckRow;

/// What the tables say of one operator.
struct Rules {
  std::vector<const DtypeRow*> gaps;   ///< dtypes that only the CPU's kernel takes
  std::vector<const DtypeRow*> words;  ///< what CUDA's kernel says where both refuse
  std::vector<const OwnCheckRow*> checks;
  std::uint64_t gap_dtypes = 0;            ///< one bit for each
  std::uint64_t refused_dtypes = 0;        ///< those of `gaps` and `words`
  bool checks_always = false;              ///< not only where devices differ
  const char* waits = nullptr;             ///< when it makes the host wait; null: never
  const char* nondeterministic = nullptr;  ///< its name in PyTorch's alert; null: it repeats itself
  const char* nondeterministic_when = "";

  /// Throw if CUDA's kernel refuses the dtype. `meta`, if there is one, checks shapes first.
  void refuse_dtypes(const c10::OperatorHandle& handle, const torch::jit::Stack& stack,
                     std::size_t begin, const c10::SafeKernelFunction* meta) const;
  /// Throw if devices are not as CUDA's kernel wants them.
  void check_devices(const c10::OperatorHandle& handle, const torch::jit::Stack& stack,
                     std::size_t begin) const;
  /// Raise or warn if PyTorch is to use deterministic algorithms only.
  void alert(const NamedArguments& arguments) const;
  /// Throw CUDA's error in place of the CPU kernel's, where the table has it. `dtypes` are those of
  /// the arguments.
  void throw_in_cuda_words(const c10::Error& error, std::uint64_t dtypes) const;
};

/// The rules of an operator, which live for good. Null: it has none.
const Rules* find_rules(const std::string& name);

/// One bit for each dtype of an operator's tensors.
inline std::uint64_t dtype_bit(at::ScalarType type) {
  return std::uint64_t{1} << static_cast<unsigned>(type);
}

}  // namespace ashore::emulator
