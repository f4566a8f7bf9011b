// Small helpers around the CPython API: owned references, errors, lazily imported names. All of
// bindings.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <ashore/result.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace ashore::python {

/// An owned reference to a Python object, or nothing.
class Ref {
 public:
  Ref() noexcept = default;
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    if (this != &other) {
      PyObject* old = std::exchange(object_, std::exchange(other.object_, nullptr));
      Py_XDECREF(old);
    }
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  /// Take over a new reference (null is nothing).
  static Ref steal(PyObject* object) noexcept { return Ref(object); }
  static Ref borrow(PyObject* object) noexcept { return Ref(Py_XNewRef(object)); }

  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  explicit Ref(PyObject* object) noexcept : object_(object) {}
  PyObject* object_ = nullptr;
};

/// Set the Python exception that belongs to a failed Status; returns null for `return raise(...)`.
std::nullptr_t raise(const Status& status);
/// Set `type` with a one-line message.
std::nullptr_t raise(PyObject* type, std::string_view message);
/// Return the text with control characters and line breaks made spaces (contract E1).
std::string one_line(std::string_view text);

/// Return "numpy.ndarray"-like text for messages: the module-qualified name of the object's class.
std::string class_name(PyObject* object);

/// Clear the error that is set and return its text.
std::string take_error_text();

/// Say whether the error that is set says that the signature of `callable`, just called, lacks a
/// keyword. An error raised by the function's own code is never taken for one, for then it would be
/// called twice (contract E3).
bool lacks_keyword(PyObject* callable, PyObject* keyword);

/// Return attribute `name` of `object`; nothing with no error set where there is none, or None.
Ref optional_attribute(PyObject* object, PyObject* name);

/// Return the loaded module of that name from sys.modules (borrowed), or null. Never imports, sets
/// no error.
PyObject* loaded_module(PyObject* name);

/// Interned strings, made at module start.
struct Names {
  PyObject *copy, *dtype, *order, *out, *device, *requires_grad, *layout, *value_range, *channels;
  PyObject *array, *array_interface, *cuda_array_interface, *dlpack, *dlpack_device, *max_version;
  PyObject *torch, *ml_dtypes, *numpy_ma, *optree, *torch_pytree, *jax;
};
const Names& names();
/// Fill `names()`. Returns false with an error set on failure.
bool make_names();

/// Keep the garbage collector, and with it finalizers of others, from running inside a scope.
class WithoutCollector {
 public:
  WithoutCollector() noexcept : was_enabled_(PyGC_Disable()) {}
  ~WithoutCollector() {
    if (was_enabled_ != 0) PyGC_Enable();
  }
  WithoutCollector(const WithoutCollector&) = delete;
  WithoutCollector& operator=(const WithoutCollector&) = delete;

 private:
  int was_enabled_;
};

/// Let other threads run while a scope moves many bytes.
class WithoutGil {
 public:
  /// Release the GIL if the work is worth it: more than 64 KiB.
  explicit WithoutGil(std::size_t bytes) noexcept
      : state_(bytes > 64 * 1024 ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace ashore::python
