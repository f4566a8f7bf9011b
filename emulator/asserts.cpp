// See asserts.hpp.
#include "asserts.hpp"

#include <ATen/ops/full_like.h>
#include <fnmatch.h>

#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "state.hpp"

namespace ashore::emulator {

struct AssertRow {
  const char* name;       ///< of the operator, without overload and trailing underscore
  const char* cpu_words;  ///< a glob
  const char* arguments;  ///< separated by blanks
  int harmless;
  const char* condition;
  const char* file;
  const char* function;
};

namespace {

using at::Tensor;

constexpr AssertRow kAsserts[] = {
#include "device_asserts.inc"
};

using Table = std::unordered_map<std::string_view, std::vector<const AssertRow*>>;

const Table& table() {
  static const auto* made = [] {
    auto* rows = new Table;
    for (const AssertRow& row : kAsserts) (*rows)[row.name].push_back(&row);
    return rows;
  }();
  return *made;
}

bool names(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// Masks are no indices, and nothing is out of range where there is nothing.
bool holds_values(const Tensor& tensor) {
  return tensor.defined() && tensor.scalar_type() != at::kBool && tensor.numel() != 0;
}

}  // namespace

const std::vector<const AssertRow*>* find_asserts(const std::string& name) {
  std::string_view base(name);
  base = base.substr(0, base.find('.'));
  if (base.ends_with('_')) base.remove_suffix(1);
  const auto found = table().find(base);
  return found == table().end() ? nullptr : &found->second;
}

const AssertRow* match_assert(const std::vector<const AssertRow*>& rows, const c10::Error& error) {
  const std::string words = error.what_without_backtrace();
  for (const AssertRow* row : rows) {
    if (::fnmatch(row->cpu_words, words.c_str(), FNM_NOESCAPE) == 0) return row;
  }
  return nullptr;
}

void fail_assert(const AssertRow& row, const std::string& op, const c10::Error& error) {
  const std::string line =
      c10::str("aten/src/ATen/native/cuda/", row.file, ": ", row.function,
               ": block: [0,0,0], thread: [0,0,0] Assertion `", row.condition, "` failed.");
  std::string words = error.what_without_backtrace();
  words.resize(std::min(words.find("  (Could this error message"), words.size()));
  report_failure(line, op + ": " + words);
  break_device(device::Error::kAssert);
  if (is_launch_blocking()) throw_cuda_error(device::Error::kAssert);
}

void make_harmless(const AssertRow& row, const c10::OperatorHandle& handle,
                   torch::jit::Stack& stack, std::size_t begin) {
  const auto replaced = [&](const Tensor& tensor) {
    return holds_values(tensor) ? at::full_like(tensor, row.harmless) : tensor;
  };
  const auto& arguments = handle.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!names(row.arguments, arguments[i].name())) continue;
    c10::IValue& value = stack[begin + i];
    if (value.isTensor()) {
      value = replaced(value.toTensor());
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<Tensor>> list;
      for (const auto& tensor : value.toOptionalTensorVector()) {
        list.push_back(tensor ? std::optional(replaced(*tensor)) : std::nullopt);
      }
      value = std::move(list);
    }
  }
}

}  // namespace ashore::emulator
