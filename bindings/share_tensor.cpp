// A torch tensor's memory as an ndarray, safe against all that may happen to the tensor later
// (contract C2).
//
// The array's base is the tensor's storage, marked as not resizable: then resize_, set_, .data= and
// storage().resize_(0) cannot pull the memory away. Tensor.numpy() is the one public way to set
// that mark.
#include "land.hpp"

#include "core/checked.hpp"
#include "core/dlpack_dtype.hpp"

#include <algorithm>

namespace ashore::python {
namespace {

// A guess whether a tensor's storage is locked already. It decides which question is asked first,
// never the answer: a tensor not seen before is taken for fresh and .numpy(), which is right for
// locked ones too, is called at once; one seen before is asked for its storage. New tensors often
// get the addresses of dead ones, so an address that turned out fresh once more is taken for fresh
// the next few times, and the more often it did, the longer.
class LockGuess {
 public:
  bool is_likely(PyObject* tensor) {
    Entry& entry = at(tensor);
    if (entry.tensor != tensor) {
      entry = {tensor, 0, kShortestPause};
      return false;
    }
    if (entry.pause == 0) return true;
    --entry.pause;
    return false;
  }
  void was_wrong(PyObject* tensor) {
    Entry& entry = at(tensor);
    entry.pause = entry.next_pause;
    entry.next_pause = std::min(2 * entry.next_pause, kLongestPause);
  }

 private:
  struct Entry {
    PyObject* tensor;  // compared, never followed
    int pause;
    int next_pause;
  };
  static constexpr std::size_t kEntries = 1024;
  static constexpr int kShortestPause = 8;
  static constexpr int kLongestPause = 128;

  Entry& at(PyObject* tensor) {
    return entries_[(reinterpret_cast<std::uintptr_t>(tensor) >> 4) % kEntries];
  }

  Entry entries_[kEntries] = {};
};

LockGuess g_guess;  // under the GIL

// How many fresh tensors are still asked for their dtype before .numpy() is tried: none, until one
// was refused.
int g_ask_dtype = 0;
constexpr int kAskAfterRefusal = 64;

// Say whether Tensor.numpy() takes tensors of this dtype; the others travel as ones of the same
// size.
bool numpy_takes(const Torch& torch, DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return torch.carriers[index] == torch.dtypes[index];
}

// The same, of a tensor that has not arrived yet.
bool numpy_takes(const Torch& torch, PyObject* tensor) {
  dlpack::Tensor read;
  if (!torch.facts.read(tensor, read)) return false;
  const std::optional<DType> dtype = dtype_from_dlpack(read.dtype);
  return dtype && numpy_takes(torch, *dtype);
}

// Return a tensor on the same storage of the dtype that carries the bits to NumPy.
Ref carried(const Torch& torch, PyObject* tensor, DType dtype) {
  PyObject* arguments[] = {tensor, torch.carriers[static_cast<std::size_t>(dtype)]};
  return Ref::steal(PyObject_Vectorcall(torch.view, arguments, 2, nullptr));
}

// Return a tensor on the same storage that does not require grad, which .numpy() asks for.
Ref detached(const Torch& torch, PyObject* tensor) {
  const int requires_grad = torch.facts.requires_grad(tensor);
  if (requires_grad < 0) return {};
  return requires_grad == 0 ? Ref::borrow(tensor) : Ref::steal(torch.detach(tensor));
}

// Say whether .numpy() gave what it should: an ndarray on the tensor's memory. NumPy allocates
// where PyTorch has none, as in a freed storage.
bool is_on_tensor_memory(PyObject* array) {
  return array != nullptr && PyArray_CheckExact(array) &&
         !PyArray_CHKFLAGS(reinterpret_cast<PyArrayObject*>(array), NPY_ARRAY_OWNDATA);
}

// Lock the storage by .numpy() of a tensor on it. Returns false, without an error, where that did
// not work.
bool lock_directly(const Torch& torch, const Arrival& arrival) {
  PyObject* tensor = arrival.object.get();
  const DType dtype = arrival.facts.view.dtype;
  Ref plain = numpy_takes(torch, dtype) ? detached(torch, tensor) : carried(torch, tensor, dtype);
  Ref array = Ref::steal(plain ? torch.numpy(plain.get()) : nullptr);
  if (!array) PyErr_Clear();
  return is_on_tensor_memory(array.get());
}

}  // namespace

Ref share_fresh(const Torch& torch, PyObject* tensor) {
  if (g_guess.is_likely(tensor) || torch.modes.any()) return {};
  if (g_ask_dtype > 0) {
    --g_ask_dtype;
    if (!numpy_takes(torch, tensor)) {
      g_ask_dtype = kAskAfterRefusal;
      return {};
    }
  }
  const WithoutCollector guard;  // a finalizer may free the memory before it is locked
  Ref plain = detached(torch, tensor);
  Ref array = Ref::steal(plain ? torch.numpy(plain.get()) : nullptr);
  if (!array) {
    PyErr_Clear();  // the long way converts it, or gives the reason
    g_ask_dtype = kAskAfterRefusal;
  }
  if (!is_on_tensor_memory(array.get())) return {};
  auto* ndarray = reinterpret_cast<PyArrayObject*>(array.get());
  const LayoutView layout = layout_of(ndarray);
  const std::int64_t item_bytes = PyArray_ITEMSIZE(ndarray);
  std::int64_t end_bytes = count_elems(layout) * item_bytes;
  if (!PyArray_IS_C_CONTIGUOUS(ndarray)) {
    Extent extent;
    if (!measure_extent(layout, item_bytes, extent)) return {};
    end_bytes = extent.high;
    if (has_internal_overlap(layout, item_bytes)) {
      PyArray_CLEARFLAGS(ndarray, NPY_ARRAY_WRITEABLE);  // contract N3
    }
  }
  if (torch.facts.storage_holds(tensor, end_bytes, item_bytes) != 1) {
    PyErr_Clear();
    return {};
  }
  return array;
}

PyObject* share_tensor(const Torch& torch, const Arrival& arrival, bool read_only) {
  PyObject* tensor = arrival.object.get();
  if (!arrival.plain) {
    Ref storage = Ref::steal(PyObject_CallOneArg(torch.lock, tensor));
    if (!storage || !is_where_it_was(arrival)) return nullptr;
    return wrap_memory(arrival.facts.view, read_only, std::move(storage));
  }
  const WithoutCollector guard;  // from the lock on the memory stays where it arrived
  Ref storage = Ref::steal(torch.untyped_storage(tensor));
  const int resizable = storage ? torch.resizable.truth(storage.get()) : -1;
  if (resizable < 0) return nullptr;
  if (resizable == 1) {
    g_guess.was_wrong(tensor);
    if (!lock_directly(torch, arrival))
      storage = Ref::steal(PyObject_CallOneArg(torch.lock, tensor));
    // PyTorch lets other threads run on the way to the lock.
    if (!storage || !is_where_it_was(arrival)) return nullptr;
  }
  return storage ? wrap_memory(arrival.facts.view, read_only, std::move(storage)) : nullptr;
}

}  // namespace ashore::python
