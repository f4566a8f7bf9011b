// Objects of no class that ashore knows, by the protocols they speak, in the order of contract N8.
//
// A producer is asked once. What its own code raises passes through as it is (contract E3); what it
// hands over is checked as anything from outside.
#include "arrival.hpp"

#include <string>

namespace ashore::python {
namespace {

// Adopt an array that a producer made for us or shares with us.
Arrived adopt(PyObject* object, Ref given, const char* protocol, Arrival& arrival) {
  if (!PyArray_Check(given.get())) {
    raise(PyExc_TypeError, std::string(protocol) + " of " + class_name(object) +
                               " gave no ndarray but " + class_name(given.get()));
    return Arrived::kError;
  }
  return arrive_ndarray(given.get(), arrival);
}

// Call __array__ of any generation: without arguments all of them share or copy as they like, and
// casts and copies are made here. Only copy=False has to be passed on.
Arrived ask_array(PyObject* object, PyObject* method, bool never_copy, Arrival& arrival) {
  if (!never_copy) {
    Ref given = Ref::steal(PyObject_CallNoArgs(method));
    return given ? adopt(object, std::move(given), "__array__", arrival) : Arrived::kError;
  }
  Ref keywords = Ref::steal(PyTuple_Pack(1, names().copy));
  PyObject* arguments[] = {Py_False};
  Ref given =
      keywords ? Ref::steal(PyObject_Vectorcall(method, arguments, 0, keywords.get())) : Ref();
  if (given) return adopt(object, std::move(given), "__array__", arrival);
  if (lacks_keyword("copy")) {
    PyErr_Clear();
    raise(PyExc_ValueError,
          "copy=False, but __array__ of " + class_name(object) +
              " takes no copy argument, so it cannot promise to share; pass copy=None");
  } else if (PyErr_ExceptionMatches(PyExc_ValueError) ||
             PyErr_ExceptionMatches(PyExc_BufferError)) {
    const std::string text = take_error_text();
    raise(PyExc_ValueError, "copy=False, but " + class_name(object) +
                                " cannot give its array without a copy: " + text);
  }
  return Arrived::kError;
}

// Pointers to Python objects must never be taken from an interface.
bool refuses_typestr(PyObject* interface) {
  Ref typestr =
      PyDict_Check(interface) ? Ref::borrow(PyDict_GetItemString(interface, "typestr")) : Ref();
  const char* text =
      typestr && PyUnicode_Check(typestr.get()) ? PyUnicode_AsUTF8(typestr.get()) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  return std::string_view(text).find('O') != std::string_view::npos;
}

Arrived ask_interface(PyObject* object, PyObject* interface, Arrival& arrival) {
  if (refuses_typestr(interface)) {
    raise(PyExc_TypeError, "__array_interface__ of " + class_name(object) +
                               " has dtype object; choose a numeric dtype first");
    return Arrived::kError;
  }
  Ref given = Ref::steal(PyArray_FromInterface(object));
  if (!given) return Arrived::kError;
  if (given.get() == Py_NotImplemented) {
    raise(PyExc_TypeError, "__array_interface__ of " + class_name(object) +
                               " is no dict with shape, typestr and version");
    return Arrived::kError;
  }
  return adopt(object, std::move(given), "__array_interface__", arrival);
}

Arrived ask_buffer(PyObject* object, Arrival& arrival) {
  Ref memory = Ref::steal(PyMemoryView_FromObject(object));
  if (!memory) {
    if (PyErr_ExceptionMatches(PyExc_BufferError)) {
      const std::string text = take_error_text();
      raise(PyExc_TypeError, class_name(object) + " cannot export its buffer: " + text);
    }
    return Arrived::kError;
  }
  Ref given = Ref::steal(PyArray_FromAny(memory.get(), nullptr, 0, 0, 0, nullptr));
  if (!given) return Arrived::kError;
  // NumPy reads a buffer whose format it does not know item by item; such an array owns its data.
  auto* array = reinterpret_cast<PyArrayObject*>(given.get());
  if (PyArray_Check(given.get()) && PyArray_BASE(array) == nullptr) {
    raise(PyExc_TypeError,
          "the buffer of " + class_name(object) + " has a format that NumPy does not know");
    return Arrived::kError;
  }
  return adopt(object, std::move(given), "the buffer protocol", arrival);
}

}  // namespace

Arrived arrive_protocol(PyObject* object, bool never_copy, Arrival& arrival) {
  if (Ref interface = optional_attribute(object, names().cuda_array_interface)) {
    return arrive_device_object(object, "a CUDA device (__cuda_array_interface__)", never_copy,
                                arrival);
  }
  if (PyErr_Occurred()) return Arrived::kError;
  if (Ref method = optional_attribute(object, names().dlpack)) {
    return arrive_dlpack(object, method.get(), never_copy, arrival);
  }
  if (PyErr_Occurred()) return Arrived::kError;
  if (Ref method = optional_attribute(object, names().array)) {
    return ask_array(object, method.get(), never_copy, arrival);
  }
  if (PyErr_Occurred()) return Arrived::kError;
  if (Ref interface = optional_attribute(object, names().array_interface)) {
    return ask_interface(object, interface.get(), arrival);
  }
  if (PyErr_Occurred()) return Arrived::kError;
  if (PyObject_CheckBuffer(object)) return ask_buffer(object, arrival);
  return Arrived::kNoArray;
}

Arrived arrive_device_object(PyObject* object, const std::string& where, bool never_copy,
                             Arrival& arrival) {
  if (never_copy) {
    raise(PyExc_ValueError, "copy=False, but the memory of " + class_name(object) + " is on " +
                                where + ", which needs a copy to the host");
    return Arrived::kError;
  }
  Ref module = Ref::steal(PyImport_ImportModule("ashore._devices"));
  if (!module) return Arrived::kError;
  Ref host = Ref::steal(PyObject_CallMethod(module.get(), "fetch", "Os", object, where.c_str()));
  if (!host) return Arrived::kError;
  const Arrived arrived = arrive(host.get(), false, arrival);
  if (arrived == Arrived::kNoArray) {
    raise_no_array(host.get());
    return Arrived::kError;
  }
  arrival.fetched = arrival.fresh = true;
  return arrived;
}

}  // namespace ashore::python
