// Implements request.hpp.
#include "request.hpp"

#include <string>

namespace ashore::python {
namespace {

// Keyword names are interned almost always: identity first, then text.
const Keyword* find_keyword(std::span<const Keyword> keywords, PyObject* name) {
  for (const Keyword& keyword : keywords) {
    if (keyword.name == name) return &keyword;
  }
  for (const Keyword& keyword : keywords) {
    if (PyUnicode_Compare(keyword.name, name) == 0) return &keyword;
  }
  return nullptr;
}

std::string shown(PyObject* object) {
  Ref text = Ref::steal(PyObject_Repr(object));
  const char* line = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (line == nullptr) PyErr_Clear();
  return line != nullptr ? line : "?";
}

}  // namespace

bool read_arguments(const char* function, PyObject* const* arguments, Py_ssize_t count,
                    PyObject* keyword_names, std::span<PyObject**> positional,
                    std::span<const Keyword> keywords) {
  if (count > static_cast<Py_ssize_t>(positional.size())) {
    raise(PyExc_TypeError, std::string(function) + "() takes " + std::to_string(positional.size()) +
                               " positional argument, but " + std::to_string(count) +
                               " were given");
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) *positional[static_cast<std::size_t>(i)] = arguments[i];
  const Py_ssize_t named = keyword_names != nullptr ? PyTuple_GET_SIZE(keyword_names) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* name = PyTuple_GET_ITEM(keyword_names, i);
    const Keyword* keyword = find_keyword(keywords, name);
    if (keyword == nullptr) {
      raise(PyExc_TypeError,
            std::string(function) + "() got an unexpected keyword argument " + shown(name));
      return false;
    }
    if (*keyword->value != nullptr) {
      raise(PyExc_TypeError, std::string(function) + "() got argument " + shown(name) + " twice");
      return false;
    }
    *keyword->value = arguments[count + i];
  }
  for (PyObject** value : positional) {
    if (*value == nullptr) {
      raise(PyExc_TypeError, std::string(function) + "() needs the object to convert");
      return false;
    }
  }
  return true;
}

bool read_copy(PyObject* given, Copy& copy) {
  if (given == nullptr || given == Py_None) return true;
  if (PyBool_Check(given) || PyArray_IsScalar(given, Bool)) {
    copy = PyObject_IsTrue(given) == 1 ? Copy::kAlways : Copy::kNever;
    return true;
  }
  raise(PyExc_ValueError, "copy=" + shown(given) + " is neither None, True nor False");
  return false;
}

bool read_order(PyObject* given, Order& order) {
  if (given == nullptr) return true;
  if (PyUnicode_Check(given)) {
    if (PyUnicode_CompareWithASCIIString(given, "K") == 0) return true;
    if (PyUnicode_CompareWithASCIIString(given, "C") == 0) {
      order = Order::kRowMajor;
      return true;
    }
  }
  raise(PyExc_ValueError,
        "order=" + shown(given) + " is neither 'K' (the source's own) nor 'C' (row-major)");
  return false;
}

bool read_numpy_dtype(PyObject* given, NumpyRequest& request) {
  if (given == nullptr || given == Py_None) return true;
  Ref descr = Ref::steal(reinterpret_cast<PyObject*>(parse_numpy_dtype(given)));
  if (!descr) return false;
  auto* wanted = reinterpret_cast<PyArray_Descr*>(descr.get());
  if (has_object_items(wanted)) {
    raise(PyExc_TypeError,
          "dtype object holds Python objects, not numbers; choose a numeric dtype");
    return false;
  }
  if (const auto type = numpy_type(wanted)) {
    request.options.dtype = type->dtype;
    request.options.byte_swapped = type->byte_swapped;
  } else {
    request.opaque_dtype = std::move(descr);
  }
  return true;
}

}  // namespace ashore::python
