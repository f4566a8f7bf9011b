// What every file of the Python surface needs: C++ functions as CPython functions, with PyTorch's
// own translation of exceptions and warnings. Includes no pybind11, which takes seconds to compile.
#pragma once

#include <Python.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ashore::emulator::surface {

/// Thrown when the interpreter holds an error already.
struct PythonErrorSet {};

/// Run `body` as PyTorch runs its own bindings: null with a Python exception if it throws, and
/// TORCH_WARN as Python warnings.
PyObject* guarded(c10::function_ref<PyObject*()> body);

/// A reference that is owned.
class Object {
 public:
  Object() = default;
  /// Take over a new reference; throw if there is none, as after a failed call.
  explicit Object(PyObject* owned) : object_(owned) {
    if (owned == nullptr) throw PythonErrorSet();
  }
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() { Py_XDECREF(object_); }

  static Object borrow(PyObject* object) { return Object(Py_NewRef(object)); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

/// While it lives, other Python threads may run.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  ~GilRelease() { PyEval_RestoreThread(state_); }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

inline Object to_python(bool value) { return Object(PyBool_FromLong(value)); }
inline Object to_python(int value) { return Object(PyLong_FromLong(value)); }
inline Object to_python(std::int64_t value) { return Object(PyLong_FromLongLong(value)); }
inline Object to_python(std::uint64_t value) { return Object(PyLong_FromUnsignedLongLong(value)); }
inline Object to_python(double value) { return Object(PyFloat_FromDouble(value)); }
inline Object to_python(void* value) { return Object(PyLong_FromVoidPtr(value)); }
inline Object to_python(std::string_view value) {
  return Object(PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size())));
}
inline Object to_python(const char* value) { return to_python(std::string_view(value)); }
inline Object to_python(Object value) { return value; }
inline Object none() { return Object::borrow(Py_None); }

template <typename... Values>
Object tuple(Values&&... values) {
  Object result(PyTuple_New(sizeof...(values)));
  Py_ssize_t index = 0;
  (PyTuple_SET_ITEM(result.get(), index++, to_python(std::forward<Values>(values)).release()), ...);
  return result;
}

template <typename Value>
void set_item(const Object& dict, const char* key, Value&& value) {
  const Object item = to_python(std::forward<Value>(value));
  if (PyDict_SetItemString(dict.get(), key, item.get()) < 0) throw PythonErrorSet();
}
template <typename Value>
void set_attribute(PyObject* object, const char* name, Value&& value) {
  const Object attribute = to_python(std::forward<Value>(value));
  if (PyObject_SetAttrString(object, name, attribute.get()) < 0) throw PythonErrorSet();
}

/// The integer in `object`; anything else is a RuntimeError with `complaint`, as PyTorch's bindings
/// do.
std::int64_t to_int(PyObject* object, const char* complaint);
std::string to_string(PyObject* object, const char* complaint);

/// PyArg_ParseTupleAndKeywords; `names` ends with null.
template <typename... Targets>
void parse(PyObject* args, PyObject* kwargs, const char* format, const char* const* names,
           Targets*... targets) {
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, const_cast<char**>(names), targets...)) {
    throw PythonErrorSet();
  }
}

/// Call a body and give what it returned to Python; nothing becomes None.
template <typename Body, typename... Arguments>
PyObject* answer(Body body, Arguments... arguments) {
  if constexpr (std::is_void_v<std::invoke_result_t<Body, Arguments...>>) {
    body(arguments...);
    return Py_NewRef(Py_None);
  } else {
    return to_python(body(arguments...)).release();
  }
}

/// A C++ function as a module's function. How it is called follows from what it takes: nothing, one
/// object, or the tuple and the dict of arguments. To Python, functions of one body are equal
/// unless `kCopy` differs; torch.compile keeps a table of them.
template <auto kBody, int kCopy = 0>
PyMethodDef function(const char* name) {
  using Body = decltype(kBody);
  if constexpr (std::is_invocable_v<Body>) {
    const PyCFunction call = [](PyObject*, PyObject*) -> PyObject* {
      return guarded([] { return answer(kBody); });
    };
    return {name, call, METH_NOARGS, nullptr};
  } else if constexpr (std::is_invocable_v<Body, PyObject*>) {
    const PyCFunction call = [](PyObject*, PyObject* argument) -> PyObject* {
      return guarded([&] { return answer(kBody, argument); });
    };
    return {name, call, METH_O, nullptr};
  } else {
    const PyCFunctionWithKeywords call = [](PyObject*, PyObject* args,
                                            PyObject* kwargs) -> PyObject* {
      return guarded([&] { return answer(kBody, args, kwargs); });
    };
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
            METH_VARARGS | METH_KEYWORDS, nullptr};
  }
}

/// The same for a type's method, whose first argument is the object.
template <auto kBody>
PyMethodDef method(const char* name) {
  using Body = decltype(kBody);
  if constexpr (std::is_invocable_v<Body, PyObject*>) {
    const PyCFunction call = [](PyObject* self, PyObject*) -> PyObject* {
      return guarded([&] { return answer(kBody, self); });
    };
    return {name, call, METH_NOARGS, nullptr};
  } else {
    const PyCFunction call = [](PyObject* self, PyObject* argument) -> PyObject* {
      return guarded([&] { return answer(kBody, self, argument); });
    };
    return {name, call, METH_O, nullptr};
  }
}

/// A read-only attribute.
template <auto kBody>
PyGetSetDef property(const char* name) {
  const getter get = [](PyObject* self, void*) -> PyObject* {
    return guarded([&] { return answer(kBody, self); });
  };
  return {name, get, nullptr, nullptr, nullptr};
}

/// Add `functions` (ending with a null entry, living as long as the process) to a module.
void add_functions(PyObject* module, PyMethodDef* functions);
/// Add a ready static type under `name`.
void add_type(PyObject* module, const char* name, PyTypeObject* type);
/// An empty submodule `torch._C.<name>`, importable by that name.
Object add_submodule(PyObject* module, const char* name, const char* doc);
/// An int subclass with named values, like the enumerations of pybind11 that PyTorch offers.
Object make_enum(const char* module_name, const char* name,
                 std::initializer_list<std::pair<const char*, int>> values);

/// Throw NotImplementedError: "<what> … not emulated".
[[noreturn]] void not_emulated(const std::string& what);
/// Add functions that do nothing but refuse, all with the same message.
void add_refusals(PyObject* module, const char* what, std::initializer_list<const char*> names);

/// Let torch.cuda initialise itself, as each binding of PyTorch that needs the device does.
void lazy_init();

}  // namespace ashore::emulator::surface
