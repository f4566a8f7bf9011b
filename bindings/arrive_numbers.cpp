// Numbers that are data themselves: Python scalars, and lists or tuples of numbers given as the
// argument itself (contract N6, N7). Called at the top level of a conversion alone; inside
// containers numbers are left as they are.
#include "arrival.hpp"

namespace ashore::python {
namespace {

// Lists that hold one another twice each are few objects, but numbers without end.
constexpr std::int64_t kMaxVisits = std::int64_t{1} << 28;

// What a walk over nested lists has seen.
struct Census {
  bool has_int = false, has_float = false, has_complex = false;  // Python's own
  bool has_number = false;
  bool ragged = false;
  int ndim = -1;  // depth of the numbers; -1 until the first one
  std::int64_t visits = 0;
  std::int64_t lengths[kMaxDims];
  Ref numpy_dtype;  // what the NumPy scalars promote to
};

bool is_list_or_tuple(PyObject* object) {
  return PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

// Count one leaf in. Returns 0 where it is no number, -1 with an error set.
int count_leaf(PyObject* leaf, Census& census) {
  if (PyArray_IsScalar(leaf, Generic)) {
    Ref descr = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(leaf)));
    if (!descr) return -1;
    if (!numpy_type(reinterpret_cast<PyArray_Descr*>(descr.get()))) return 0;
    if (!census.numpy_dtype) {
      census.numpy_dtype = std::move(descr);
    } else if (census.numpy_dtype.get() != descr.get()) {
      census.numpy_dtype = Ref::steal(reinterpret_cast<PyObject*>(
          PyArray_PromoteTypes(reinterpret_cast<PyArray_Descr*>(census.numpy_dtype.get()),
                               reinterpret_cast<PyArray_Descr*>(descr.get()))));
      if (!census.numpy_dtype) return -1;
    }
  } else if (PyBool_Check(leaf)) {
    // A bool changes no dtype that numbers have.
  } else if (PyLong_Check(leaf)) {
    census.has_int = true;
  } else if (PyFloat_Check(leaf)) {
    census.has_float = true;
  } else if (PyComplex_Check(leaf)) {
    census.has_complex = true;
  } else {
    return 0;
  }
  census.has_number = true;
  return 1;
}

// Walk nested lists. Returns 1 where all leaves are numbers, 0 where one is not, -1 with an error
// set.
int count_nested(PyObject* object, int depth, Census& census) {
  if (++census.visits > kMaxVisits) {
    raise(PyExc_ValueError, "nested lists of more than 2**28 numbers; pass an array");
    return -1;
  }
  if (!is_list_or_tuple(object)) {
    if (census.ndim < 0) census.ndim = depth;
    if (census.ndim != depth) census.ragged = true;
    return count_leaf(object, census);
  }
  if (depth == kMaxDims) return 0;  // deeper than any array, or a cycle: the container walk tells
  const Py_ssize_t length = PySequence_Fast_GET_SIZE(object);
  if (census.ndim < 0) {
    census.lengths[depth] = length;
  } else if (depth >= census.ndim || census.lengths[depth] != length) {
    census.ragged = true;
  }
  if (length == 0 && census.ndim < 0) census.ndim = depth + 1;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    const int all_numbers = count_nested(PySequence_Fast_GET_ITEM(object, i), depth + 1, census);
    if (all_numbers != 1) return all_numbers;
  }
  return 1;
}

// Promote a dtype by one more; null with an error set.
Ref promote(Ref dtype, DType other) {
  Ref descr = Ref::steal(reinterpret_cast<PyObject*>(descr_for(other, false)));
  if (!dtype || !descr) return descr;
  return Ref::steal(reinterpret_cast<PyObject*>(
      PyArray_PromoteTypes(reinterpret_cast<PyArray_Descr*>(dtype.get()),
                           reinterpret_cast<PyArray_Descr*>(descr.get()))));
}

// The dtype that Python's floats and complex numbers get on PyTorch's side, together with what
// stands beside them.
bool choose_torch_dtype(const Torch& torch, Census& census, std::optional<DType>& chosen) {
  if (!census.has_float && !census.has_complex) return true;
  Ref defaults = Ref::steal(PyObject_CallNoArgs(torch.default_dtypes));
  const char *real = nullptr, *complex = nullptr;
  if (!defaults || !PyArg_ParseTuple(defaults.get(), "ss", &real, &complex)) return false;
  const DType default_dtype = *dtype_from_name(census.has_complex ? complex : real);
  if (!census.numpy_dtype) {
    chosen = default_dtype;
    return true;
  }
  Ref dtype = promote(std::move(census.numpy_dtype), default_dtype);
  if (!dtype) return false;
  const auto type = numpy_type(reinterpret_cast<PyArray_Descr*>(dtype.get()));
  if (type) chosen = type->dtype;
  return true;
}

}  // namespace

Arrived arrive_numbers(PyObject* object, const Torch* torch, Arrival& arrival) {
  Census census;
  const int all_numbers = count_nested(object, 0, census);
  if (all_numbers < 0) return Arrived::kError;
  if (all_numbers == 0 || !census.has_number) return Arrived::kNoArray;
  if (census.ragged) {
    raise(PyExc_ValueError,
          "a nested list of numbers is ragged: its rows differ in length, so it is no array");
    return Arrived::kError;
  }
  Ref array = Ref::steal(PyArray_FromAny(object, nullptr, 0, 0, 0, nullptr));
  if (!array) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      raise(PyExc_TypeError, "an int past 64 bits has no NumPy dtype; pass it as a float");
    }
    return Arrived::kError;
  }
  const int type_number = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array.get()))->type_num;
  if (type_number == NPY_OBJECT) {
    raise(PyExc_TypeError,
          "an int past 64 bits has no NumPy dtype (only dtype object would hold it); pass it as a "
          "float");
    return Arrived::kError;
  }
  // NumPy widens ints that no one integer dtype holds (2**63 beside -1) to float64, which loses
  // them.
  const bool only_ints = !census.has_float && !census.has_complex && !census.numpy_dtype;
  if (only_ints && PyTypeNum_ISFLOAT(type_number)) {
    raise(PyExc_TypeError,
          "no integer dtype of 64 bits holds all of these ints; pass them as floats");
    return Arrived::kError;
  }
  if (torch != nullptr && !choose_torch_dtype(*torch, census, arrival.default_dtype))
    return Arrived::kError;
  arrival.fresh = true;
  return arrive_ndarray(array.get(), arrival);
}

}  // namespace ashore::python
