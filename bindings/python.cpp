// Implements python.hpp.
#include "python.hpp"

namespace ashore::python {
namespace {

Names g_names;

PyObject* exception_for(Code code) {
  switch (code) {
    case Code::kUnsupported:
      return PyExc_TypeError;
    case Code::kInvalid:
      return PyExc_ValueError;
    case Code::kUnreachable:
      return PyExc_RuntimeError;
    case Code::kNoMemory:
      return PyExc_MemoryError;
  }
  return PyExc_RuntimeError;
}

}  // namespace

std::nullptr_t raise(const Status& status) {
  return raise(exception_for(status.code()), status.message());
}

std::nullptr_t raise(PyObject* type, std::string_view message) {
  std::string line(message);
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  PyErr_SetString(type, line.c_str());
  return nullptr;
}

std::string class_name(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Ref module = Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__"));
  Ref qualified =
      Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__qualname__"));
  if (!module || !qualified || !PyUnicode_Check(module.get()) ||
      !PyUnicode_Check(qualified.get())) {
    PyErr_Clear();
    return type->tp_name;
  }
  const char* m = PyUnicode_AsUTF8(module.get());
  const char* q = PyUnicode_AsUTF8(qualified.get());
  if (m == nullptr || q == nullptr) {
    PyErr_Clear();
    return type->tp_name;
  }
  const std::string prefix = m;
  return prefix == "builtins" ? q : prefix + "." + q;
}

std::string take_error_text() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Ref owned_type = Ref::steal(type), owned_value = Ref::steal(value),
      owned_trace = Ref::steal(trace);
  Ref text = Ref::steal(value != nullptr ? PyObject_Str(value) : nullptr);
  const char* shown = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  std::string result = shown != nullptr && *shown != 0 ? shown : "no message";
  PyErr_Clear();
  return result;
}

bool lacks_keyword(std::string_view keyword) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Ref text = Ref::steal(value != nullptr ? PyObject_Str(value) : nullptr);
  const char* shown = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  const std::string_view line = shown != nullptr ? shown : "";
  // A binding error of Python code has no frame yet; one that a wrapper passes on still names the
  // keyword.
  const bool names_it =
      line.find("keyword argument") != line.npos && line.find(keyword) != line.npos;
  const bool is_binding = trace == nullptr && line.find("argument") != line.npos;
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
  return names_it || is_binding;
}

Ref optional_attribute(PyObject* object, PyObject* name) {
  PyObject* found = nullptr;
#if PY_VERSION_HEX >= 0x030D0000
  PyObject_GetOptionalAttr(object, name, &found);
#else
  _PyObject_LookupAttr(object, name, &found);
#endif
  return Ref::steal(found);
}

PyObject* loaded_module(PyObject* name) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* module = PyDict_Check(modules) ? PyDict_GetItemWithError(modules, name) : nullptr;
  if (module == nullptr) PyErr_Clear();
  return module == Py_None ? nullptr : module;
}

const Names& names() { return g_names; }

bool make_names() {
  const struct {
    PyObject** slot;
    const char* text;
  } rows[] = {
      {&g_names.copy, "copy"},
      {&g_names.dtype, "dtype"},
      {&g_names.order, "order"},
      {&g_names.out, "out"},
      {&g_names.device, "device"},
      {&g_names.requires_grad, "requires_grad"},
      {&g_names.layout, "layout"},
      {&g_names.value_range, "value_range"},
      {&g_names.channels, "channels"},
      {&g_names.array, "__array__"},
      {&g_names.array_interface, "__array_interface__"},
      {&g_names.cuda_array_interface, "__cuda_array_interface__"},
      {&g_names.dlpack, "__dlpack__"},
      {&g_names.dlpack_device, "__dlpack_device__"},
      {&g_names.max_version, "max_version"},
      {&g_names.torch, "torch"},
      {&g_names.ml_dtypes, "ml_dtypes"},
      {&g_names.numpy_ma, "numpy.ma"},
      {&g_names.optree, "optree"},
      {&g_names.torch_pytree, "torch.utils._pytree"},
      {&g_names.jax, "jax"},
  };
  for (const auto& row : rows) {
    *row.slot = PyUnicode_InternFromString(row.text);
    if (*row.slot == nullptr) return false;
  }
  return true;
}

}  // namespace ashore::python
