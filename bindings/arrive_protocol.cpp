// Objects of no class that ashore knows, by the protocols they speak, in the order of contract N8.
//
// A producer is asked once. What its own code raises passes through as it is (contract E3); what it
// hands over is checked as anything from outside.
#include "arrival.hpp"

#include "core/checked.hpp"

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
  if (lacks_keyword(method, names().copy)) {
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

// NumPy compares neither offset nor strides with the size of a buffer.
bool stays_in_buffer(PyArrayObject* array, PyObject* data) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE) < 0) return false;
  const LayoutView layout{PyArray_NDIM(array),
                          reinterpret_cast<const std::int64_t*>(PyArray_DIMS(array)),
                          reinterpret_cast<const std::int64_t*>(PyArray_STRIDES(array))};
  Extent extent;
  const std::int64_t first = PyArray_BYTES(array) - static_cast<const char*>(buffer.buf);
  std::int64_t begin = 0, end = 0;
  const bool inside =
      measure_extent(layout, PyArray_ITEMSIZE(array), extent) &&
      (extent.count == 0 || (checked_add(first, extent.low, begin) && begin >= 0 &&
                             checked_add(first, extent.high, end) && end <= buffer.len));
  PyBuffer_Release(&buffer);
  return inside;
}

// NumPy reads the attribute by itself; hand it a stand-in, so that the producer is not asked twice
// and what was checked is what is used. The stand-in keeps the producer alive.
Ref stand_in(PyObject* object, PyObject* interface) {
  Ref types = Ref::steal(PyImport_ImportModule("types"));
  Ref space =
      Ref::steal(types ? PyObject_CallMethod(types.get(), "SimpleNamespace", nullptr) : nullptr);
  if (!space || PyObject_SetAttrString(space.get(), "producer", object) < 0 ||
      PyObject_SetAttr(space.get(), names().array_interface, interface) < 0) {
    return {};
  }
  return space;
}

Arrived ask_interface(PyObject* object, PyObject* given_interface, Arrival& arrival) {
  const std::string whose = "__array_interface__ of " + class_name(object);
  if (!PyDict_Check(given_interface)) {
    raise(PyExc_TypeError, whose + " is no dict with shape, typestr and version");
    return Arrived::kError;
  }
  Ref interface = Ref::steal(PyDict_Copy(given_interface));
  if (!interface) return Arrived::kError;
  if (refuses_typestr(interface.get())) {
    raise(PyExc_TypeError, whose + " has dtype object; choose a numeric dtype first");
    return Arrived::kError;
  }
  // Without an address the memory is that of a buffer: the one given, else the object's own.
  Ref data = Ref::borrow(PyDict_GetItemString(interface.get(), "data"));
  if (!data || data.get() == Py_None) data = Ref::borrow(object);
  if (PyDict_SetItemString(interface.get(), "data", data.get()) < 0) return Arrived::kError;
  Ref source = stand_in(object, interface.get());
  Ref given = Ref::steal(source ? PyArray_FromInterface(source.get()) : nullptr);
  if (!given) return Arrived::kError;
  if (PyArray_Check(given.get()) && !PyTuple_Check(data.get()) &&
      !stays_in_buffer(reinterpret_cast<PyArrayObject*>(given.get()), data.get())) {
    if (!PyErr_Occurred()) raise(PyExc_ValueError, whose + " reaches past the end of its buffer");
    return Arrived::kError;
  }
  return adopt(object, std::move(given), "__array_interface__", arrival);
}

// Say whether the items of a buffer are records, or unions, which ctypes calls bytes.
bool has_records(PyObject* memory) {
  const Py_buffer* buffer = PyMemoryView_GET_BUFFER(memory);
  const std::string_view format = buffer->format != nullptr ? buffer->format : "B";
  return format.find("T{") != format.npos || (format == "B" && buffer->itemsize != 1);
}

Arrived ask_buffer(PyObject* object, Arrival& arrival) {
  Ref memory = Ref::steal(PyMemoryView_FromObject(object));
  if (!memory) return Arrived::kError;
  Ref given;
  if (has_records(memory.get())) {
    Ref module = Ref::steal(PyImport_ImportModule("ashore._buffers"));
    if (module)
      given = Ref::steal(PyObject_CallMethod(module.get(), "of_ctypes", "O", memory.get()));
    if (!given) return Arrived::kError;
  }
  if (!given || given.get() == Py_None) {
    given = Ref::steal(PyArray_FromAny(memory.get(), nullptr, 0, 0, 0, nullptr));
  }
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

// Ask by the first protocol that the object has.
Arrived ask(PyObject* object, bool never_copy, Arrival& arrival) {
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

}  // namespace

Arrived arrive_protocol(PyObject* object, bool never_copy, Arrival& arrival) {
  const Arrived arrived = ask(object, never_copy, arrival);
  if (arrived == Arrived::kError && PyErr_ExceptionMatches(PyExc_BufferError)) {
    const std::string text = take_error_text();
    raise(PyExc_TypeError, class_name(object) + " cannot export its memory: " + text);
  }
  return arrived;
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
