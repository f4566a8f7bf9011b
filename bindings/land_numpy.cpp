// Arrivals out as ndarrays: shared, copied into a new array, or copied into `out`.
#include "land.hpp"

#include "convert/convert.hpp"

#include <algorithm>
#include <string>

namespace ashore::python {
namespace {

PyArrayObject* as_array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

bool same_shape(LayoutView a, LayoutView b) {
  return a.ndim == b.ndim && std::equal(a.shape, a.shape + a.ndim, b.shape);
}

std::string shape_text(LayoutView layout) {
  std::string text = "(";
  for (int axis = 0; axis < layout.ndim; ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(layout.shape[axis]);
  }
  return text + (layout.ndim == 1 ? ",)" : ")");
}

// Check `out=` against the request and the source's shape (contract C6). Returns null with an error
// set.
PyArrayObject* check_out(PyObject* out, LayoutView shape, const NumpyRequest& request) {
  if (!PyArray_Check(out)) {
    raise(PyExc_TypeError, "out= takes an ndarray, not an object of class " + class_name(out));
    return nullptr;
  }
  PyArrayObject* array = as_array(out);
  const LayoutView have{PyArray_NDIM(array),
                        reinterpret_cast<const std::int64_t*>(PyArray_DIMS(array)), nullptr};
  if (request.never_copies()) {
    raise(PyExc_ValueError,
          "copy=False shares memory and out= fills other memory; pass one of the two");
  } else if (!PyArray_ISWRITEABLE(array)) {
    raise(PyExc_ValueError, "out= is read-only");
  } else if (!same_shape(have, shape)) {
    raise(PyExc_ValueError,
          "out= has shape " + shape_text(have) + ", the source has " + shape_text(shape));
  } else if (request.options.order == Order::kRowMajor && !PyArray_IS_C_CONTIGUOUS(array)) {
    raise(PyExc_ValueError,
          "order='C' asks for row-major memory and out= is not; pass one of the two");
  } else {
    return array;
  }
  return nullptr;
}

PyObject* fill_out(const Arrival& arrival, const NumpyRequest& request, const Options& options) {
  PyArrayObject* out = check_out(request.out, arrival.facts.view.layout, request);
  if (out == nullptr) return nullptr;
  const auto type = numpy_type(PyArray_DESCR(out));
  if (!type) {
    return raise(PyExc_TypeError, "out= has dtype " + dtype_text(PyArray_DESCR(out)) +
                                      ", which no number converts to");
  }
  if (request.options.dtype && (*request.options.dtype != type->dtype ||
                                request.options.byte_swapped != type->byte_swapped)) {
    return raise(PyExc_ValueError, "dtype= and the dtype of out= differ; leave dtype= out");
  }
  Options cast = options;
  cast.copy = Copy::kAlways;
  cast.order = Order::kKeep;
  cast.dtype = type->dtype;
  cast.byte_swapped = type->byte_swapped;
  const Result<Plan> plan = make_plan(arrival.facts, cast, kNumPyTarget);
  if (!plan.ok()) return raise(plan.status());
  Layout layout;
  ArrayView destination;
  view_array(out, *type, layout, destination);
  if (!write_values(arrival, destination, Memory::kReused)) return nullptr;
  return Py_NewRef(request.out);
}

std::nullptr_t refuse_to_share_fresh() {
  return raise(PyExc_ValueError,
               "copy=False, but a number has no memory to share and needs a copy; pass copy=None");
}

// An ndarray of text, dates or records: NumPy shares and copies it, nobody casts it.
PyObject* land_opaque(const Arrival& arrival, const NumpyRequest& request) {
  PyArrayObject* array = as_array(arrival.object.get());
  PyArray_Descr* descr = PyArray_DESCR(array);
  auto* wanted = reinterpret_cast<PyArray_Descr*>(request.opaque_dtype.get());
  if (request.options.dtype || (wanted != nullptr && !PyArray_EquivTypes(descr, wanted))) {
    return raise(
        PyExc_TypeError,
        "an array of dtype " + dtype_text(descr) + " has no numbers to convert to " +
            (wanted != nullptr ? dtype_text(wanted) : std::string(name(*request.options.dtype))) +
            "; call .astype() for what NumPy makes of it");
  }
  if (request.out != nullptr) {
    const LayoutView shape{PyArray_NDIM(array),
                           reinterpret_cast<const std::int64_t*>(PyArray_DIMS(array)), nullptr};
    PyArrayObject* out = check_out(request.out, shape, request);
    if (out == nullptr) return nullptr;
    if (!PyArray_EquivTypes(descr, PyArray_DESCR(out))) {
      return raise(PyExc_TypeError, "an array of dtype " + dtype_text(descr) +
                                        " cannot fill out= of dtype " +
                                        dtype_text(PyArray_DESCR(out)));
    }
    return PyArray_CopyInto(out, array) == 0 ? Py_NewRef(request.out) : nullptr;
  }
  if (arrival.fresh && request.never_copies()) return refuse_to_share_fresh();
  const bool row_major = request.options.order == Order::kRowMajor;
  const bool reorder = row_major && !PyArray_IS_C_CONTIGUOUS(array);
  if (reorder && request.never_copies()) {
    return raise(PyExc_ValueError,
                 "copy=False, but another order of axes needs a copy; pass copy=None or copy=True");
  }
  const bool is_own = arrival.fresh && PyArray_ISWRITEABLE(array);
  if (!reorder && (request.options.copy != Copy::kAlways || is_own))
    return Py_NewRef(arrival.object.get());
  return PyArray_NewCopy(array, row_major ? NPY_CORDER : NPY_KEEPORDER);
}

PyObject* share(const Arrival& arrival, bool read_only) {
  switch (arrival.origin) {
    case Origin::kTensor:
      return share_tensor(*loaded_torch(), arrival, read_only);
    case Origin::kNdarray:
      return Py_NewRef(arrival.object.get());
    case Origin::kForeign:
      break;
  }
  // Nothing of an empty array has to be kept: its producer's deleter runs before we return
  // (contract N9).
  const bool empty = count_elems(arrival.facts.view.layout) == 0;
  return wrap_memory(arrival.facts.view, read_only,
                     empty ? Ref() : Ref::borrow(arrival.object.get()));
}

PyObject* copy(const Arrival& arrival, const Plan& plan) {
  Layout layout;
  ArrayView destination;
  Ref array = Ref::steal(new_array(arrival.facts.view.layout, plan.order, plan.to,
                                   plan.to_byte_swapped, layout, destination));
  if (!array || !write_values(arrival, destination, Memory::kFresh)) return nullptr;
  return array.release();
}

}  // namespace

bool settle_options(const Arrival& arrival, Options& options) {
  if (!options.dtype) options.dtype = arrival.default_dtype;
  if (!arrival.fresh) return true;
  if (options.copy == Copy::kNever) {
    refuse_to_share_fresh();
    return false;
  }
  const ArrayView& view = arrival.facts.view;
  if (!view.read_only &&
      !has_internal_overlap(view.layout, static_cast<std::int64_t>(size_bytes(view.dtype)))) {
    options.copy = Copy::kIfNeeded;
  }
  return true;
}

bool check_numpy_dtype(const Arrival& arrival, const Options& options) {
  if (arrival.facts.view.dtype != DType::kComplex32 || arrival.origin == Origin::kNdarray)
    return true;
  const DType to = options.dtype.value_or(DType::kComplex32);
  if (to != DType::kComplex32 && to != DType::kBComplex32) return true;
  raise(PyExc_TypeError,
        "complex32 has no NumPy dtype and is not widened silently; pass dtype='complex64'");
  return false;
}

bool write_values(const Arrival& arrival, const ArrayView& destination, Memory memory) {
  const SourceFacts& facts = arrival.facts;
  if (!arrival.plain && !is_where_it_was(arrival)) return false;
  const WithoutGil released(static_cast<std::size_t>(count_elems(facts.view.layout)) *
                            size_bytes(destination.dtype));
  const Status status = convert(facts.view, destination, {facts.conjugated, facts.negated}, memory);
  if (status.ok()) return true;
  raise(status);
  return false;
}

PyObject* land_numpy(Arrival& arrival, const NumpyRequest& request) {
  if (arrival.opaque) return land_opaque(arrival, request);
  if (request.opaque_dtype) {
    return raise(PyExc_TypeError,
                 "no number converts to dtype " +
                     dtype_text(reinterpret_cast<PyArray_Descr*>(request.opaque_dtype.get())) +
                     "; convert first, then call .astype()");
  }
  Options options = request.options;
  if (!settle_options(arrival, options) || !check_numpy_dtype(arrival, options)) return nullptr;
  Result<Plan> plan = make_plan(arrival.facts, options, numpy_target(arrival));
  if (!plan.ok()) return raise(plan.status());
  if (plan->path == Path::kFramework) {
    Arrival host;
    return fetch(arrival, host) ? land_numpy(host, request) : nullptr;
  }
  if (request.out != nullptr) return fill_out(arrival, request, options);
  return plan->path == Path::kShare ? share(arrival, plan->read_only) : copy(arrival, *plan);
}

}  // namespace ashore::python
