// Landing: what a plan decided is carried out, and an ndarray or a tensor is handed out. The end of
// every conversion.
#pragma once

#include "arrival.hpp"
#include "convert/convert.hpp"
#include "request.hpp"

namespace ashore::python {

/// What an ndarray can hold, given what came in: an ndarray's own overlap is the caller's business
/// (contract N5).
inline Target numpy_target(const Arrival& arrival) {
  Target target = kNumPyTarget;
  target.writable_overlap = arrival.origin == Origin::kNdarray;
  return target;
}

/// Fill in what the source itself decides: its default dtype, and that a share of fresh memory is
/// as good as a copy. Returns false with an error set where a source without memory was to be
/// shared.
bool settle_options(const Arrival& arrival, Options& options);

/// Refuse complex32, which NumPy has not, unless a dtype is asked for that holds it (contract N10).
bool check_numpy_dtype(const Arrival& arrival, const Options& options);

/// Hand out an arrival as an ndarray. Null with an error set.
PyObject* land_numpy(Arrival& arrival, const NumpyRequest& request);

/// Hand out an arrival as a tensor, sent on to the device `home` unless that is null. Null with an
/// error set.
PyObject* land_torch(Arrival& arrival, const TorchRequest& request, PyObject* home);

/// Hand out an ndarray as a tensor on its memory, if its flags alone say that PyTorch can hold it.
/// Returns false where they do not: the plan tells. Else `result` is the tensor, or null with an
/// error set.
bool share_at_sight(const Torch& torch, PyObject* array, Ref& result);

/// Hand out a tensor for a tensor: itself where nothing has to change (contract T1). Null with an
/// error set.
PyObject* tensor_to_torch(PyObject* tensor, const TorchRequest& request);

/// Write the values of a host arrival into memory that exists (any dtype the core can cast to, any
/// strides). Releases the GIL for large ones. Returns false with an error set.
bool write_values(const Arrival& arrival, const ArrayView& destination, Memory memory);

/// Convert a plain tensor that looks fresh (never shared before) by its own .numpy(), which costs
/// least and locks the storage on the way. Nothing, without an error, where that is not the way:
/// the long one is right for every tensor.
Ref share_fresh(const Torch& torch, PyObject* tensor);

/// Return the array of a tensor on its own memory; locks the storage first (contract C2). Null with
/// an error set.
PyObject* share_tensor(const Torch& torch, const Arrival& arrival, bool read_only);

}  // namespace ashore::python
