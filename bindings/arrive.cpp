// arrive(): decides what kind of object came in, cheapest questions first. Called by every
// conversion, per leaf.
#include "arrival.hpp"

namespace ashore::python {
namespace {

bool is_masked_array(PyObject* array) {
  PyObject* module = loaded_module(names().numpy_ma);
  if (module == nullptr) return false;
  Ref type = Ref::steal(PyObject_GetAttrString(module, "MaskedArray"));
  if (!type) {
    PyErr_Clear();
    return false;
  }
  const int is_one = PyObject_IsInstance(array, type.get());
  if (is_one < 0) PyErr_Clear();
  return is_one == 1;
}

// Objects that are asked about most and are never arrays.
bool is_plainly_no_array(PyObject* object) {
  return object == Py_None || PyUnicode_Check(object) || PyBytes_Check(object) ||
         PyLong_Check(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object) ||
         PyType_Check(object);
}

}  // namespace

Arrived arrive(PyObject* object, bool never_copy, Arrival& arrival) {
  if (const Torch* torch = loaded_torch()) {
    if (is_plain_tensor(*torch, object) || is_tensor(*torch, object)) {
      return arrive_tensor(*torch, object, arrival);
    }
  } else if (PyErr_Occurred()) {
    return Arrived::kError;
  }
  if (PyArray_Check(object)) return arrive_ndarray(object, arrival);
  if (PyArray_IsScalar(object, Generic)) {
    Ref array = Ref::steal(PyArray_FromScalar(object, nullptr));
    if (!array) return Arrived::kError;
    arrival.fresh = true;
    return arrive_ndarray(array.get(), arrival);
  }
  if (is_plainly_no_array(object)) return Arrived::kNoArray;
  return arrive_protocol(object, never_copy, arrival);
}

Arrived arrive_ndarray(PyObject* array, Arrival& arrival) {
  Ref plain;
  if (PyArray_CheckExact(array)) {
    plain = Ref::borrow(array);
  } else {
    if (is_masked_array(array)) {
      raise(PyExc_TypeError,
            "a masked array would lose its mask; call .filled(value) or take .data and .mask");
      return Arrived::kError;
    }
    plain =
        Ref::steal(PyArray_View(reinterpret_cast<PyArrayObject*>(array), nullptr, &PyArray_Type));
    if (!plain) return Arrived::kError;
  }
  auto* ndarray = reinterpret_cast<PyArrayObject*>(plain.get());
  PyArray_Descr* descr = PyArray_DESCR(ndarray);
  if (has_object_items(descr)) {
    raise(
        PyExc_TypeError,
        "an array of dtype object holds Python objects, not numbers; choose a numeric dtype first, "
        "as in x.astype('float64')");
    return Arrived::kError;
  }
  arrival.origin = Origin::kNdarray;
  if (const auto type = numpy_type(descr)) {
    view_array(ndarray, *type, arrival.layout, arrival.facts.view);
  } else {
    arrival.opaque = true;
  }
  arrival.object = std::move(plain);
  return Arrived::kYes;
}

std::nullptr_t raise_no_array(PyObject* object) {
  return raise(PyExc_TypeError, "an object of class " + class_name(object) +
                                    " is no array: it is neither a tensor nor an ndarray, nor has "
                                    "it __dlpack__, __array__ or a buffer");
}

}  // namespace ashore::python
