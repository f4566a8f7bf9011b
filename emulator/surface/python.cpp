// The helpers of python.hpp. The one file, besides comm.cpp, that includes PyTorch's pybind11
// headers.
#include "python.hpp"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/device_lazy_init.h>

#include <deque>

namespace ashore::emulator::surface {

PyObject* guarded(c10::function_ref<PyObject*()> body) {
  HANDLE_TH_ERRORS
  try {
    return body();
  } catch (const PythonErrorSet&) {
    return nullptr;
  }
  END_HANDLE_TH_ERRORS
}

std::int64_t to_int(PyObject* object, const char* complaint) {
  if (!PyIndex_Check(object) || PyBool_Check(object)) TORCH_CHECK(false, complaint);
  const Object number(PyNumber_Index(object));
  const std::int64_t value = PyLong_AsLongLong(number.get());
  if (value == -1 && PyErr_Occurred()) throw PythonErrorSet();
  return value;
}

std::string to_string(PyObject* object, const char* complaint) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    TORCH_CHECK(false, complaint);
  }
  return {text, static_cast<std::size_t>(size)};
}

void add_functions(PyObject* module, PyMethodDef* functions) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet();
}

void add_type(PyObject* module, const char* name, PyTypeObject* type) {
  if (PyType_Ready(type) < 0) throw PythonErrorSet();
  if (PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(type)) < 0) {
    throw PythonErrorSet();
  }
}

Object add_submodule(PyObject* module, const char* name, const char* doc) {
  const std::string full_name = std::string(PyModule_GetName(module)) + "." + name;
  // Borrowed: sys.modules keeps it, as it keeps every module.
  PyObject* submodule = PyImport_AddModule(full_name.c_str());
  if (submodule == nullptr || PyModule_SetDocString(submodule, doc) < 0 ||
      PyModule_AddObjectRef(module, name, submodule) < 0) {
    throw PythonErrorSet();
  }
  return Object::borrow(submodule);
}

Object make_enum(const char* module_name, const char* name,
                 std::initializer_list<std::pair<const char*, int>> values) {
  Object type(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(O){ss}", name,
                                    &PyLong_Type, "__module__", module_name));
  for (const auto& [value_name, value] : values) {
    set_attribute(type.get(), value_name, Object(PyObject_CallFunction(type.get(), "i", value)));
  }
  return type;
}

void not_emulated(const std::string& what) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, what, " not emulated (the device is ashore's emulated GPU)");
}

namespace {

PyObject* refuse(PyObject* what, PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* { not_emulated(to_string(what, "not emulated")); });
}

}  // namespace

void add_refusals(PyObject* module, const char* what, std::initializer_list<const char*> names) {
  // CPython keeps pointers to the definitions, so they live as long as the process.
  static auto& definitions = *new std::deque<PyMethodDef>;
  const Object message = to_python(what);
  const Object module_name(PyModule_GetNameObject(module));
  for (const char* name : names) {
    definitions.push_back({name,
                           reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&refuse)),
                           METH_VARARGS | METH_KEYWORDS, nullptr});
    set_attribute(module, name,
                  Object(PyCFunction_NewEx(&definitions.back(), message.get(), module_name.get())));
  }
}

void lazy_init() { torch::utils::device_lazy_init(c10::DeviceType::CUDA); }

}  // namespace ashore::emulator::surface
