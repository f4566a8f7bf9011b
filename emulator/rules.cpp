// See rules.hpp.
#include "rules.hpp"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/result_type.h>

#include <initializer_list>
#include <string_view>
#include <unordered_map>

namespace ashore::emulator {

using at::ScalarType;
using at::Tensor;

namespace {

constexpr std::uint64_t dtypes(std::initializer_list<ScalarType> types) {
  std::uint64_t mask = 0;
  for (const ScalarType type : types) mask |= std::uint64_t{1} << static_cast<unsigned>(type);
  return mask;
}

enum class Check : std::uint8_t {
  kSameDevice,
  kSameDeviceOrScalar,  ///< the first may be a CPU tensor of no dimensions
  kSameDeviceLists,
  kIsCuda,
  kIsCpu,
  kNoCpuScalar,
  kIterator,  ///< one device, CPU tensors of no dimensions aside
};

}  // namespace

struct DtypeRow {
  const char* name;
  const char* argument;
  const char* condition;
  std::uint64_t dtypes;
  bool is_not_implemented;
  const char* message;
  const char* cpu_message;
};

struct OwnCheckRow {
  const char* name;
  Check check;
  const char* arguments;
  const char* message;
  const char* condition;
  bool always;
};

namespace {

struct WaitRow {
  const char* name;
  const char* condition;
};

struct AlertRow {
  const char* name;
  const char* condition;
  const char* alert;
};

constexpr DtypeRow kGaps[] = {
#include "dtype_gaps.inc"
};
constexpr DtypeRow kWords[] = {
#include "dtype_words.inc"
};
constexpr OwnCheckRow kOwnChecks[] = {
#include "own_checks.inc"
};
constexpr WaitRow kWaits[] = {
#include "waits.inc"
    // The same kernels by other names.
    {"aten::nonzero.out", ""},
    {"aten::masked_select.out", ""},
    {"aten::unique_dim", ""},
    {"aten::unique_dim_consecutive", ""},
    {"aten::index.Tensor_out", "masks"},
};
constexpr AlertRow kAlerts[] = {
#include "nondeterministic.inc"
};

std::unordered_map<std::string_view, Rules>* make_rules() {
  auto* made = new std::unordered_map<std::string_view, Rules>;
  for (const DtypeRow& row : kGaps) {
    (*made)[row.name].gaps.push_back(&row);
    (*made)[row.name].gap_dtypes |= row.dtypes;
    (*made)[row.name].refused_dtypes |= row.dtypes;
  }
  for (const DtypeRow& row : kWords) {
    (*made)[row.name].words.push_back(&row);
    (*made)[row.name].refused_dtypes |= row.dtypes;
  }
  for (const OwnCheckRow& row : kOwnChecks) {
    (*made)[row.name].checks.push_back(&row);
    (*made)[row.name].checks_always |= row.always;
  }
  for (const WaitRow& row : kWaits) (*made)[row.name].waits = row.condition;
  for (const AlertRow& row : kAlerts) {
    (*made)[row.name].nondeterministic = row.alert;
    (*made)[row.name].nondeterministic_when = row.condition;
  }
  return made;
}

// "a b c", one after the other.
std::string_view take_word(std::string_view& words) {
  const std::string_view word = words.substr(0, words.find(' '));
  words.remove_prefix(std::min(words.size(), word.size() + 1));
  return word;
}

std::string replaced(std::string text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

bool is_cpu_scalar(const Tensor& tensor) { return tensor.is_cpu() && tensor.dim() == 0; }

// The dtype that a kernel of two operands computes in.
ScalarType computed_type(const Tensor& self, const c10::IValue* other) {
  if (other == nullptr) return self.scalar_type();
  if (other->isTensor()) return at::result_type(self, other->toTensor());
  return other->isScalar() ? at::result_type(self, other->toScalar()) : self.scalar_type();
}

[[noreturn]] void refuse(bool is_not_implemented, const std::string& message) {
  TORCH_CHECK_NOT_IMPLEMENTED(!is_not_implemented, message);
  TORCH_CHECK(false, message);
}

// Put devices in place of {self.device} and its like, and throw.
[[noreturn]] void refuse(const OwnCheckRow& row, const NamedArguments& arguments) {
  std::string message = row.message;
  std::string_view names = row.arguments;
  while (!names.empty()) {
    const std::string_view name = take_word(names);
    const auto tensors = arguments.tensors(name);
    if (tensors.empty()) continue;
    message = replaced(std::move(message), "{" + std::string(name) + ".device}",
                       tensors.front().device().str());
  }
  refuse(false, message);
}

// The rule of a TensorIterator: the first device other than the CPU counts.
void check_as_iterator(const OwnCheckRow& row, const std::vector<Tensor>& tensors) {
  const Tensor* first = nullptr;
  for (const Tensor& tensor : tensors) {
    if (first == nullptr || (first->is_cpu() && !tensor.is_cpu())) first = &tensor;
  }
  for (const Tensor& tensor : tensors) {
    if (tensor.device() == first->device() || is_cpu_scalar(tensor)) continue;
    refuse(false, replaced(replaced(row.message, "{first.device}", first->device().str()),
                           "{second.device}", tensor.device().str()));
  }
}

void check_row(const OwnCheckRow& row, const NamedArguments& arguments) {
  std::vector<Tensor> tensors;
  std::string_view names = row.arguments;
  while (!names.empty()) {
    const std::string_view name = take_word(names);
    for (Tensor& tensor : arguments.tensors(name)) tensors.push_back(std::move(tensor));
  }
  if (tensors.empty()) return;
  const Tensor& first = tensors.front();
  switch (row.check) {
    case Check::kSameDeviceOrScalar:
      if (is_cpu_scalar(first)) return;
      [[fallthrough]];
    case Check::kSameDevice:
    case Check::kSameDeviceLists:
      for (const Tensor& tensor : tensors) {
        if (tensor.device() != first.device()) refuse(row, arguments);
      }
      return;
    case Check::kIsCuda:
      if (!first.is_cuda()) refuse(row, arguments);
      return;
    case Check::kIsCpu:
      if (!first.is_cpu()) refuse(row, arguments);
      return;
    case Check::kNoCpuScalar:
      if (is_cpu_scalar(first)) refuse(row, arguments);
      return;
    case Check::kIterator:
      check_as_iterator(row, tensors);
      return;
  }
}

}  // namespace

const c10::IValue* NamedArguments::find(std::string_view name) const {
  const auto& arguments = handle_.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == name) return &stack_[begin_ + i];
  }
  return nullptr;
}

std::vector<Tensor> NamedArguments::tensors(std::string_view name) const {
  const bool is_first_only = name.ends_with("[0]");
  const c10::IValue* value = find(name.substr(0, name.find('[')));
  std::vector<Tensor> found;
  if (value == nullptr) return found;
  if (value->isTensor()) {
    found.push_back(value->toTensor());
  } else if (value->isTensorList()) {
    found = value->toTensorVector();
  } else if (value->isOptionalTensorList()) {
    for (const auto& tensor : value->toOptionalTensorVector()) {
      if (tensor) found.push_back(*tensor);
    }
  }
  std::erase_if(found, [](const Tensor& tensor) { return !tensor.defined(); });
  if (is_first_only && found.size() > 1) found.resize(1);
  return found;
}

std::vector<Tensor> NamedArguments::all_tensors() const {
  std::vector<Tensor> found;
  for (const c10::Argument& argument : handle_.schema().arguments()) {
    for (Tensor& tensor : tensors(argument.name())) found.push_back(std::move(tensor));
  }
  return found;
}

bool NamedArguments::hold(std::string_view condition) const {
  if (condition.empty()) return true;
  if (condition.front() == '!') return !hold(condition.substr(1));
  if (condition == "masks") {  // indices that are masks, or that come from the host
    for (const Tensor& tensor : tensors("indices")) {
      const ScalarType type = tensor.scalar_type();
      if (type == at::kBool || type == at::kByte || tensor.is_cpu()) return true;
    }
    const auto values = tensors("values");
    return !values.empty() && values.front().is_cpu();
  }
  if (condition == "compares") {
    const auto self = tensors("self"), other = tensors("other");
    if (self.empty() || other.empty() || self[0].sizes() != other[0].sizes()) return false;
    const bool is_same = self[0].is_alias_of(other[0]) && self[0].strides() == other[0].strides() &&
                         self[0].storage_offset() == other[0].storage_offset() &&
                         self[0].scalar_type() == other[0].scalar_type();
    return self[0].numel() != 0 && !is_same;
  }
  if (const std::size_t at = condition.find('='); at != condition.npos) {
    const c10::IValue* value = find(condition.substr(0, at));
    const std::string_view wanted = condition.substr(at + 1);
    if (value == nullptr) return false;
    if (value->isString()) return value->toStringRef() == wanted;
    if (value->isInt()) return std::to_string(value->toInt()) == wanted;
    const c10::IValue* other = find(wanted);
    return value->isScalar() && other != nullptr && other->isScalar() &&
           value->toScalar().toDouble() == other->toScalar().toDouble();
  }
  const std::string_view name = condition.substr(0, condition.find('.'));
  const auto found = tensors(name);
  if (condition.ends_with(".is_cuda")) return !found.empty() && found.front().is_cuda();
  if (condition.ends_with(".is_floating")) {
    return !found.empty() && found.front().is_floating_point();
  }
  const c10::IValue* value = find(name);
  if (value == nullptr || value->isNone()) return false;
  if (value->isBool()) return value->toBool();
  return value->isTensor() || value->isTensorList() ? !found.empty() : true;
}

void Rules::refuse_dtypes(const c10::OperatorHandle& handle, const torch::jit::Stack& stack,
                          std::size_t begin, const c10::SafeKernelFunction* meta) const {
  const NamedArguments arguments(handle, stack, begin);
  for (const DtypeRow* row : gaps) {
    const auto tensors = arguments.tensors(row->argument);
    if (tensors.empty() || tensors.front().numel() == 0) continue;
    const ScalarType type = computed_type(tensors.front(), arguments.find("other"));
    if ((row->dtypes & dtype_bit(type)) == 0 || !arguments.hold(row->condition)) continue;
    if (meta != nullptr) {
      torch::jit::Stack copy(stack.begin() + static_cast<std::ptrdiff_t>(begin), stack.end());
      meta->callBoxed(handle, c10::DispatchKeySet(c10::DispatchKey::Meta), &copy);
    }
    refuse(row->is_not_implemented, replaced(row->message, "{dtype}", c10::toString(type)));
  }
}

void Rules::check_devices(const c10::OperatorHandle& handle, const torch::jit::Stack& stack,
                          std::size_t begin) const {
  const NamedArguments arguments(handle, stack, begin);
  for (const OwnCheckRow* row : checks) {
    if (arguments.hold(row->condition)) check_row(*row, arguments);
  }
}

void Rules::alert(const NamedArguments& arguments) const {
  if (at::globalContext().deterministicAlgorithms() && arguments.hold(nondeterministic_when)) {
    at::globalContext().alertNotDeterministic(nondeterministic);
  }
}

void Rules::throw_in_cuda_words(const c10::Error& error, std::uint64_t found) const {
  const std::string said = error.what_without_backtrace();
  for (const DtypeRow* row : words) {
    for (unsigned bit = 0; bit < static_cast<unsigned>(ScalarType::NumOptions); ++bit) {
      if ((row->dtypes & found & (std::uint64_t{1} << bit)) == 0) continue;
      const std::string type = c10::toString(static_cast<ScalarType>(bit));
      if (said.starts_with(replaced(row->cpu_message, "{dtype}", type))) {
        refuse(row->is_not_implemented, replaced(row->message, "{dtype}", type));
      }
    }
  }
}

const Rules* find_rules(const std::string& name) {
  static const auto* all = make_rules();
  const auto found = all->find(name);
  return found == all->end() ? nullptr : &found->second;
}

}  // namespace ashore::emulator
