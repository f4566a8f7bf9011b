// NumPy's side of the border: dtypes both ways, arrays in and out. Includes NumPy's C API for its
// users.
#pragma once

#include "python.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ashore_numpy_api
#ifndef ASHORE_NUMPY_BRIDGE_CPP
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <ashore/array.hpp>
#include <ashore/plan.hpp>

#include <optional>

namespace ashore::python {

/// Import NumPy at the first conversion. Returns false with an error set where it is missing.
bool load_numpy();

/// A NumPy dtype as the core knows it.
struct NumpyType {
  DType dtype;
  bool byte_swapped;
};

/// Return what the core knows of `descr`; nothing for text, dates, records, objects and strangers.
std::optional<NumpyType> numpy_type(PyArray_Descr* descr);

/// Return the NumPy dtype of `dtype` (new reference); imports ml_dtypes where it is one of its
/// types. Null with TypeError set where NumPy has no such type.
PyArray_Descr* descr_for(DType dtype, bool byte_swapped);

/// Say whether descr_for() needs no import for that dtype.
bool knows_descr(DType dtype);

/// Read what `dtype=` was given. Null with TypeError set where it is no dtype.
PyArray_Descr* parse_numpy_dtype(PyObject* given);

/// Return shape and strides where the array has them, which Python code may change.
inline LayoutView layout_of(PyArrayObject* array) {
  static_assert(sizeof(npy_intp) == sizeof(std::int64_t));
  return {PyArray_NDIM(array), reinterpret_cast<const std::int64_t*>(PyArray_DIMS(array)),
          reinterpret_cast<const std::int64_t*>(PyArray_STRIDES(array))};
}

/// Fill view and layout from an array whose dtype the core knows.
void view_array(PyArrayObject* array, NumpyType type, Layout& layout, ArrayView& view);

/// Return an ndarray on memory of somebody else, kept alive by `base` (stolen). Null with an error
/// set.
PyObject* wrap_memory(const ArrayView& view, bool read_only, Ref base);

/// Return a new ndarray with the shape of `shape`, laid out for `order`, uninitialised; fills
/// `view` and `layout` with its memory. Null with an error set.
PyObject* new_array(LayoutView shape, Order order, DType dtype, bool byte_swapped, Layout& layout,
                    ArrayView& view);

/// Return the text of a dtype for messages ("float32", ">f4", "datetime64[D]").
std::string dtype_text(PyArray_Descr* descr);

/// Say whether items of the dtype are Python objects, or records with such fields.
bool has_object_items(PyArray_Descr* descr);

}  // namespace ashore::python
