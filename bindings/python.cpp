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

// Say whether a signature that Python can read takes the keyword; no where it cannot be read.
bool signature_takes(PyObject* callable, PyObject* keyword) {
  Ref inspect = Ref::steal(PyImport_ImportModule("inspect"));
  Ref signature = Ref::steal(
      inspect ? PyObject_CallMethod(inspect.get(), "signature", "O", callable) : nullptr);
  Ref none = Ref::steal(PyTuple_New(0));
  Ref keywords = Ref::steal(PyDict_New());
  Ref bind =
      Ref::steal(signature ? PyObject_GetAttrString(signature.get(), "bind_partial") : nullptr);
  Ref bound;
  if (bind && none && keywords && PyDict_SetItem(keywords.get(), keyword, Py_None) == 0) {
    bound = Ref::steal(PyObject_Call(bind.get(), none.get(), keywords.get()));
  }
  PyErr_Clear();
  return static_cast<bool>(bound);
}

}  // namespace

std::nullptr_t raise(const Status& status) {
  return raise(exception_for(status.code()), status.message());
}

std::nullptr_t raise(PyObject* type, std::string_view message) {
  PyErr_SetString(type, one_line(message).c_str());
  return nullptr;
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  // What Python's splitlines() splits at besides: next line, line and paragraph separator.
  for (const std::string_view separator : {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"}) {
    for (std::size_t at = line.find(separator); at != line.npos; at = line.find(separator, at)) {
      line.replace(at, separator.size(), " ");
    }
  }
  return line;
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

bool lacks_keyword(PyObject* callable, PyObject* keyword) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Ref text = Ref::steal(value != nullptr ? PyObject_Str(value) : nullptr);
  const char* shown = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  const char* wanted = PyUnicode_AsUTF8(keyword);
  const std::string_view line = shown != nullptr && wanted != nullptr ? shown : "";
  PyErr_Clear();
  bool lacks = line.find("argument") != line.npos;
  // A binding error of Python code has no frame yet. One that has may come from a wrapper around
  // the signature, or from Cython; then the signature tells, where there is one to be read.
  if (lacks && trace != nullptr) {
    lacks = line.find("keyword argument") != line.npos && line.find(wanted) != line.npos &&
            !signature_takes(callable, keyword);
  }
  PyErr_Restore(type, value, trace);
  return lacks;
}

Ref optional_attribute(PyObject* object, PyObject* name) {
  PyObject* found = nullptr;
#if PY_VERSION_HEX >= 0x030D0000
  PyObject_GetOptionalAttr(object, name, &found);
#else
  _PyObject_LookupAttr(object, name, &found);
#endif
  Ref attribute = Ref::steal(found);
  return attribute.get() == Py_None ? Ref() : std::move(attribute);
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
