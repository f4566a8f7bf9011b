// torch.cuda.FloatTensor and its kin. The CPU build of PyTorch has them, for isinstance(), but
// refuses to make tensors of them and to make one the default: a constant of its build says so, and
// looks only at types that carry the mark "is CUDA's". Source: torch/csrc/tensor/python_tensor.cpp.
#include "parts.hpp"

namespace ashore::emulator::surface {
namespace {

// Take the mark off. In the object, behind the type itself and two pointers, lie a bool that says
// CUDA, one that says XPU, and the name.
bool enable(PyObject* object) {
  if (!PyType_Check(object)) return false;
  const auto* type = reinterpret_cast<PyTypeObject*>(object);
  char* marks = reinterpret_cast<char*>(object) + sizeof(PyTypeObject) + 2 * sizeof(void*);
  const bool is_known = type->tp_name == marks + 2;
  if (!is_known || !std::string_view(type->tp_name).starts_with("torch.cuda.")) return false;
  return std::exchange(*marks, '\0') == 1;
}

}  // namespace

void install_tensor_types(PyObject* module) {
  static PyMethodDef functions[] = {
      function<&enable>("_ashore_enable_tensor_type"),
      {},
  };
  add_functions(module, functions);
}

}  // namespace ashore::emulator::surface
