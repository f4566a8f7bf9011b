// A torch tensor's memory as an ndarray, safe against all that may happen to the tensor later (contract C2).
//
// The array's base is the tensor's storage, marked as not resizable: then resize_, set_, .data= and
// storage().resize_(0) cannot pull the memory away. Tensor.numpy() is the one public way to set that mark.
#include "land.hpp"

namespace ashore::python {
namespace {

// A guess whether a tensor's storage is locked already. It decides which question is asked first, never the answer:
// a tensor not seen before is taken for fresh and .numpy(), which is right for locked ones too, is called at once; one
// seen before is asked for its storage. New tensors often get the addresses of dead ones, so an address that turned
// out fresh once more is taken for fresh the next few times.
class LockGuess {
 public:
  bool is_likely(PyObject* tensor) {
    Entry& entry = at(tensor);
    if (entry.tensor != tensor) {
      entry = {tensor, 0};
      return false;
    }
    if (entry.pause == 0) return true;
    --entry.pause;
    return false;
  }
  void was_wrong(PyObject* tensor) { at(tensor).pause = kPause; }

 private:
  struct Entry {
    PyObject* tensor;  // compared, never followed
    int pause;
  };
  static constexpr std::size_t kEntries = 1024;
  static constexpr int kPause = 8;

  Entry& at(PyObject* tensor) { return entries_[(reinterpret_cast<std::uintptr_t>(tensor) >> 4) % kEntries]; }

  Entry entries_[kEntries] = {};
};

LockGuess g_guess;  // under the GIL

// Dtypes that Tensor.numpy() takes; the others travel as integers of the same size.
bool torch_numpy_takes(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUInt8:
    case DType::kFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kComplex64:
    case DType::kComplex128: return true;
    default: return false;
  }
}

// Return a plain tensor on the same storage on which .numpy() works: without grad, of a dtype that NumPy has.
Ref lockable(const Torch& torch, const Arrival& arrival) {
  PyObject* tensor = arrival.object.get();
  const DType dtype = arrival.facts.view.dtype;
  if (!torch_numpy_takes(dtype)) {
    Ref size = Ref::steal(PyLong_FromSize_t(size_bytes(dtype)));
    PyObject* carrier = size ? PyDict_GetItemWithError(torch.carrier_dtypes, size.get()) : nullptr;
    if (carrier == nullptr) return {};
    PyObject* arguments[] = {tensor, carrier};
    return Ref::steal(PyObject_Vectorcall(torch.view, arguments, 2, nullptr));
  }
  Ref requires_grad = Ref::steal(PyObject_GetAttr(tensor, names().requires_grad));
  if (!requires_grad) return {};
  if (requires_grad.get() == Py_False) return Ref::borrow(tensor);
  return Ref::steal(torch.detach(tensor));
}

// Lock by .numpy() of the tensor itself, which costs least. Returns its array where that is the answer already, None
// where the storage is locked and the array is still to be made, nothing (and no error) where it did not work.
Ref lock_directly(const Torch& torch, const Arrival& arrival, bool read_only) {
  Ref plain = lockable(torch, arrival);
  Ref array = Ref::steal(plain ? torch.numpy(plain.get()) : nullptr);
  if (!array || !PyArray_CheckExact(array.get())) {
    PyErr_Clear();
    return {};
  }
  auto* ndarray = reinterpret_cast<PyArrayObject*>(array.get());
  const bool same_memory = PyArray_DATA(ndarray) == arrival.facts.view.data || PyArray_SIZE(ndarray) == 0;
  if (!same_memory) return {};  // a mode of PyTorch interfered
  if (!torch_numpy_takes(arrival.facts.view.dtype)) return Ref::borrow(Py_None);
  if (read_only) PyArray_CLEARFLAGS(ndarray, NPY_ARRAY_WRITEABLE);
  return array;
}

}  // namespace

PyObject* share_tensor(const Torch& torch, const Arrival& arrival, bool read_only) {
  PyObject* tensor = arrival.object.get();
  if (is_plain_tensor(torch, tensor)) {
    if (g_guess.is_likely(tensor)) {
      Ref storage = Ref::steal(torch.untyped_storage(tensor));
      if (!storage) return nullptr;
      const int resizable = torch.resizable.truth(storage.get());
      if (resizable < 0) return nullptr;
      if (resizable == 0) return wrap_memory(arrival.facts.view, read_only, std::move(storage));
      g_guess.was_wrong(tensor);
    }
    Ref array = lock_directly(torch, arrival, read_only);
    if (array && array.get() != Py_None) return array.release();
    if (array) {
      Ref storage = Ref::steal(torch.untyped_storage(tensor));
      return storage ? wrap_memory(arrival.facts.view, read_only, std::move(storage)) : nullptr;
    }
  }
  Ref storage = Ref::steal(PyObject_CallOneArg(torch.lock, tensor));  // finds it locked, or locks it
  return storage ? wrap_memory(arrival.facts.view, read_only, std::move(storage)) : nullptr;
}

}  // namespace ashore::python
