// Torch tensors in: through the C exchange API on the hot path, else through ashore/_torch.py.
//
// The exchange API checks nothing, so this does: data without memory, the conj and neg bits, the
// device. What is no exact Tensor or Parameter, or what the exchange API cannot read, is described
// by PyTorch's own attributes instead.
#include "arrival.hpp"

#include "core/checked.hpp"
#include "core/dlpack_dtype.hpp"
#include "ingest/dlpack.hpp"

#include <algorithm>

namespace ashore::python {
namespace {

bool has_elements(const dlpack::Tensor& tensor) {
  for (int axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] == 0) return false;
  }
  return true;
}

// Say whether all elements lie in the tensor's storage.
bool fits_storage(const Torch& torch, PyObject* tensor, const Arrival& arrival) {
  const ArrayView& view = arrival.facts.view;
  const auto item_bytes = static_cast<std::int64_t>(size_bytes(view.dtype));
  Extent extent;
  if (arrival.facts.on_device || !measure_extent(view.layout, item_bytes, extent)) return true;
  const int fits =
      extent.count == 0 ? 1 : torch.facts.storage_holds(tensor, extent.high, item_bytes);
  if (fits < 0) PyErr_Clear();
  return fits == 1;
}

// PyTorch exports its integers of fewer than 8 bits as if they were whole bytes.
bool says_its_dtype(const Torch& torch, PyObject* tensor, const Arrival& arrival) {
  const DType dtype = arrival.facts.view.dtype;
  if (dtype != DType::kInt8 && dtype != DType::kUInt8) return true;
  Ref own = Ref::steal(torch.dtype(tensor));
  if (!own) PyErr_Clear();
  return own.get() == torch.dtypes[static_cast<std::size_t>(dtype)];
}

// Try the C exchange API. kNoArray: the tensor needs the long way.
Arrived read_exchange(const Torch& torch, PyObject* tensor, Arrival& arrival) {
  dlpack::Tensor read;
  if (!torch.facts.read(tensor, read)) return Arrived::kNoArray;
  if (read.data == nullptr && has_elements(read)) return Arrived::kNoArray;
  if (!ingest::read_tensor(read, 0, arrival.layout, arrival.facts).ok()) return Arrived::kNoArray;
  if (!fits_storage(torch, tensor, arrival) || !says_its_dtype(torch, tensor, arrival))
    return Arrived::kNoArray;
  if (!knows_descr(arrival.facts.view.dtype)) arrival.plain = false;  // it may have to be imported
  const int negated = torch.facts.is_neg(tensor);
  if (negated < 0) return Arrived::kError;
  arrival.facts.negated = negated == 1;
  if (is_complex(arrival.facts.view.dtype)) {
    const int conjugated = torch.is_conj.truth(tensor);
    if (conjugated < 0) return Arrived::kError;
    arrival.facts.conjugated = conjugated == 1;
  }
  return Arrived::kYes;
}

// Ask PyTorch in Python. Its answer is (dtype, shape, strides, address, on device, conj, neg,
// zeros).
Arrived describe(const Torch& torch, PyObject* tensor, Arrival& arrival) {
  Ref answer = Ref::steal(PyObject_CallOneArg(torch.describe, tensor));
  if (!answer) return Arrived::kError;
  const char* dtype_name = nullptr;
  PyObject *shape = nullptr, *strides = nullptr, *address = nullptr;
  int on_device = 0, conjugated = 0, negated = 0, zeros = 0;
  if (!PyArg_ParseTuple(answer.get(), "sO!O!Opppp", &dtype_name, &PyTuple_Type, &shape,
                        &PyTuple_Type, &strides, &address, &on_device, &conjugated, &negated,
                        &zeros)) {
    return Arrived::kError;
  }
  std::int64_t shape_elems[kMaxDims];
  std::int64_t strides_elems[kMaxDims];
  const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
  if (ndim > kMaxDims) {
    raise(PyExc_TypeError,
          "a tensor of " + std::to_string(ndim) + " dimensions is beyond NumPy's limit of 64");
    return Arrived::kError;
  }
  for (Py_ssize_t axis = 0; axis < ndim; ++axis) {
    shape_elems[axis] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, axis));
    strides_elems[axis] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, axis));
  }
  const DType dtype = *dtype_from_name(dtype_name);
  dlpack::Tensor read{};
  read.data = PyLong_AsVoidPtr(address);
  if (PyErr_Occurred()) return Arrived::kError;
  read.device = {on_device ? dlpack::kExtDev : dlpack::kCPU, 0};
  read.ndim = static_cast<std::int32_t>(ndim);
  read.dtype = *dtype_to_dlpack(dtype);
  read.shape = shape_elems;
  read.strides = strides_elems;
  // A subclass may tell whatever it likes of itself; what is read follows PyTorch's own book.
  dlpack::Tensor own;
  if (!on_device && !zeros && torch.facts.read(tensor, own)) {
    if (own.dtype.bits != read.dtype.bits || own.dtype.lanes != 1) {
      raise(PyExc_TypeError, class_name(tensor) + " says that its dtype is " + dtype_name +
                                 ", but its elements have another size; convert its plain tensor");
      return Arrived::kError;
    }
    own.dtype = read.dtype;
    read = own;
  }
  if (zeros) {  // every element is the same one
    alignas(16) static char zero[16];
    read.data = zero;
    std::fill_n(strides_elems, ndim, 0);
  }
  const Status status = ingest::read_tensor(read, 0, arrival.layout, arrival.facts);
  if (!status.ok()) {
    raise(status);
    return Arrived::kError;
  }
  arrival.facts.conjugated = conjugated != 0;
  arrival.facts.negated = negated != 0;
  arrival.facts.zeros = zeros != 0;
  return Arrived::kYes;
}

}  // namespace

Arrived arrive_tensor(const Torch& torch, PyObject* tensor, Arrival& arrival) {
  arrival.origin = Origin::kTensor;
  arrival.plain = is_plain_tensor(torch, tensor) && !torch.modes.any();
  Arrived arrived = Arrived::kNoArray;
  if (arrival.plain) arrived = read_exchange(torch, tensor, arrival);
  if (arrived == Arrived::kNoArray) {
    arrival.plain = false;
    arrived = describe(torch, tensor, arrival);
  }
  arrival.object = Ref::borrow(tensor);
  return arrived;
}

bool is_where_it_was(const Arrival& arrival) {
  const SourceFacts& facts = arrival.facts;
  if (arrival.origin != Origin::kTensor || facts.zeros || facts.on_device) return true;
  if (count_elems(facts.view.layout) == 0) return true;
  if (address_of(*loaded_torch(), arrival.object.get()) == facts.view.data) return true;
  raise(PyExc_RuntimeError,
        "the tensor's memory was freed or replaced while it was being converted; convert it again");
  return false;
}

bool fetch(const Arrival& device, Arrival& host) {
  const Torch* torch = loaded_torch();
  if (torch == nullptr) return false;
  Ref copy = Ref::steal(PyObject_CallOneArg(torch->fetch, device.object.get()));
  if (!copy) return false;
  host.fresh = true;
  if (arrive_tensor(*torch, copy.get(), host) != Arrived::kYes) return false;
  if (!host.facts.on_device) return true;
  raise(PyExc_RuntimeError,
        "PyTorch's copy of the tensor is still on a device; it cannot be reached from here");
  return false;
}

}  // namespace ashore::python
