// Arrivals out as torch tensors: the tensor itself, a tensor on the same memory, or a copy; then to
// the device.
#include "land.hpp"

#include "core/dlpack_dtype.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace ashore::python {
namespace {

// A DLPack struct on memory that a Python object keeps alive; its shape and strides stand behind
// it.
struct Export {
  dlpack::ManagedTensorVersioned managed;
  PyObject* owner;
  std::int64_t extents[];
};

// Say whether this thread may run Python code. PyGILState_Check alone says yes as well where there
// is no interpreter any more.
bool holds_gil() {
#if PY_VERSION_HEX >= 0x030D0000
  return PyGILState_Check() != 0 && PyThreadState_GetUnchecked() != nullptr;
#else
  return PyGILState_Check() != 0 && _PyThreadState_UncheckedGet() != nullptr;
#endif
}

// PyTorch calls this when the last tensor dies, on whatever thread.
void drop_export(dlpack::ManagedTensorVersioned* managed) {
  auto* self = static_cast<Export*>(managed->manager_ctx);
  if (holds_gil()) {
    Py_DECREF(self->owner);
  } else if (Py_IsInitialized() != 0) {  // at exit the process's memory goes anyway
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(self->owner);
    PyGILState_Release(state);
  }
  std::free(self);
}

// A stride as PyTorch can hold it: axes of length 0 or 1 do not count, and get what row-major order
// gives (contract T3).
void torch_strides(LayoutView layout, std::int64_t item_bytes, std::int64_t* strides) {
  std::int64_t next = 1;
  for (int axis = layout.ndim - 1; axis >= 0; --axis) {
    const std::int64_t length = layout.shape[axis];
    strides[axis] = length <= 1 ? next : layout.strides_bytes[axis] / item_bytes;
    if (strides[axis] < 0) strides[axis] = next;  // of an empty array
    next = length == 0 ? next : std::max(next, strides[axis] * length);
  }
}

// A tensor on the view's memory through PyTorch's exchange API.
PyObject* share_exchange(const Torch& torch, const ArrayView& view, PyObject* owner) {
  const auto extents_bytes = 2 * static_cast<std::size_t>(view.layout.ndim) * sizeof(std::int64_t);
  auto* self = static_cast<Export*>(std::malloc(sizeof(Export) + extents_bytes));
  if (self == nullptr) return PyErr_NoMemory();
  std::int64_t* shape = self->extents;
  std::int64_t* strides = shape + view.layout.ndim;
  std::copy_n(view.layout.shape, view.layout.ndim, shape);
  torch_strides(view.layout, static_cast<std::int64_t>(size_bytes(view.dtype)), strides);
  self->owner = Py_NewRef(owner);
  self->managed = {{dlpack::kMajorVersion, dlpack::kMinorVersion},
                   self,
                   drop_export,
                   0,
                   {view.data,
                    {dlpack::kCPU, 0},
                    view.layout.ndim,
                    *dtype_to_dlpack(view.dtype),
                    shape,
                    strides,
                    0}};
  void* tensor = nullptr;
  if (torch.exchange->managed_tensor_to_py_object_no_sync(&self->managed, &tensor) != 0) {
    drop_export(&self->managed);
    return nullptr;
  }
  return static_cast<PyObject*>(tensor);
}

// The same for a PyTorch without the exchange API: the memory as an ndarray of integers that carry
// the bits.
PyObject* share_carrier(const Torch& torch, const ArrayView& view, Ref owner) {
  ArrayView carrier = view;
  switch (size_bytes(view.dtype)) {
    case 1:
      carrier.dtype = DType::kUInt8;
      break;
    case 2:
      carrier.dtype = DType::kInt16;
      break;
    case 4:
      carrier.dtype = DType::kInt32;
      break;
    case 8:
      carrier.dtype = DType::kInt64;
      break;
    default:
      carrier.dtype = DType::kComplex128;
      break;
  }
  Layout layout(view.layout);
  const auto item_bytes = static_cast<std::int64_t>(size_bytes(view.dtype));
  torch_strides(view.layout, item_bytes, layout.strides_bytes);
  for (int axis = 0; axis < layout.ndim; ++axis) layout.strides_bytes[axis] *= item_bytes;
  carrier.layout = layout.view();
  Ref array = Ref::steal(wrap_memory(carrier, false, std::move(owner)));
  const std::string dtype(name(view.dtype));
  return array ? PyObject_CallFunction(torch.wrap, "Os", array.get(), dtype.c_str()) : nullptr;
}

PyObject* share(const Torch& torch, const Arrival& arrival) {
  if (torch.exchange != nullptr)
    return share_exchange(torch, arrival.facts.view, arrival.object.get());
  return share_carrier(torch, arrival.facts.view, Ref::borrow(arrival.object.get()));
}

PyObject* tuple_of(const std::int64_t* values, int count) {
  PyObject* tuple = PyTuple_New(count);
  if (tuple == nullptr) return nullptr;
  for (int i = 0; i < count; ++i) {
    PyObject* value = PyLong_FromLongLong(values[i]);
    if (value == nullptr) {
      Py_DECREF(tuple);
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple, i, value);
  }
  return tuple;
}

// PyTorch's allocator calls it a RuntimeError that there is not enough memory.
Ref refuse_memory() {
  if (!PyErr_ExceptionMatches(PyExc_RuntimeError)) return {};
  const std::string text = take_error_text();
  raise(text.find("allocate") != text.npos ? PyExc_MemoryError : PyExc_RuntimeError, text);
  return {};
}

// A new host tensor, its memory PyTorch's own, so that it can be resized and sent to other
// processes.
Ref new_tensor(const Torch& torch, DType dtype, LayoutView layout, void*& address) {
  static PyObject* const kKeywords = PyTuple_Pack(2, names().dtype, names().device);
  std::int64_t strides[kMaxDims];
  torch_strides(layout, static_cast<std::int64_t>(size_bytes(dtype)), strides);
  Ref shape_tuple = Ref::steal(tuple_of(layout.shape, layout.ndim));
  Ref strides_tuple = Ref::steal(tuple_of(strides, layout.ndim));
  if (!shape_tuple || !strides_tuple || kKeywords == nullptr) return {};
  PyObject* arguments[] = {shape_tuple.get(), strides_tuple.get(),
                           torch.dtypes[static_cast<std::size_t>(dtype)], torch.host};
  // PyTorch warns of new tensors of complex32.
  if (!torch.modes.any() && count_elems(layout) > 0 && dtype != DType::kComplex32) {
    Ref tensor = Ref::steal(PyObject_Vectorcall(torch.empty_strided, arguments, 2, kKeywords));
    if (!tensor) return refuse_memory();
    if (is_plain_tensor(torch, tensor.get())) address = address_of(torch, tensor.get());
    if (address != nullptr) return tensor;
  }
  // A mode or a function transform would make, or has made, something without memory.
  Ref tensor = Ref::steal(PyObject_Vectorcall(torch.empty_guarded, arguments, 3, nullptr));
  if (tensor) address = address_of(torch, tensor.get());
  if (tensor && address == nullptr && count_elems(layout) > 0) {
    raise(PyExc_RuntimeError,
          "PyTorch made a tensor without memory; convert outside fake and meta modes");
    return {};
  }
  return tensor;
}

// A new host tensor with the arrival's values.
PyObject* copy(const Torch& torch, const Arrival& arrival, const Plan& plan) {
  Layout layout;
  compact_layout(arrival.facts.view.layout, plan.order,
                 static_cast<std::int64_t>(size_bytes(plan.to)), layout);
  void* address = nullptr;
  Ref tensor = new_tensor(torch, plan.to, layout.view(), address);
  if (!tensor || !is_where_it_was(arrival)) return nullptr;
  const ArrayView destination{address, plan.to, false, false, layout.view()};
  return write_values(arrival, destination, Memory::kFresh) ? tensor.release() : nullptr;
}

// Whether PyTorch has the dtype, with the way out in the message.
bool check_torch_dtype(const Torch& torch, DType dtype) {
  if (torch.dtypes[static_cast<std::size_t>(dtype)] != nullptr) return true;
  raise(PyExc_TypeError, "the installed torch has no dtype " + std::string(name(dtype)) +
                             "; pass dtype= with one that it has");
  return false;
}

bool can_require_grad(DType dtype, std::string_view text) {
  const DTypeKind kind = info(dtype).kind;
  if (kind == DTypeKind::kFloat || kind == DTypeKind::kComplex) return true;
  raise(PyExc_ValueError, "requires_grad=True, but a tensor of dtype " + std::string(text) +
                              " cannot carry a gradient; pass a floating dtype=");
  return false;
}

// What a tensor still lacks once it is on the right device.
PyObject* finish(const TorchRequest& request, Ref tensor) {
  if (!tensor || !request.requires_grad) return tensor.release();
  return PyObject_CallOneArg(request.torch->require_grad, tensor.get());
}

// Move a new host tensor on to the device that was asked for.
PyObject* send(const TorchRequest& request, Ref tensor, PyObject* device) {
  if (tensor && device != nullptr) {
    tensor = Ref::steal(
        PyObject_CallFunctionObjArgs(request.torch->move, tensor.get(), device, Py_False, nullptr));
  }
  return finish(request, std::move(tensor));
}

// Land what arrived of a tensor on the device that was asked for, else on the tensor's own.
PyObject* land_at_home(Arrival& arrival, const TorchRequest& request, PyObject* tensor) {
  if (request.device && request.is_host) return land_torch(arrival, request, nullptr);
  Ref home = request.device ? Ref::borrow(request.device.get())
                            : Ref::steal(PyObject_CallOneArg(request.torch->device_of, tensor));
  if (!home) return nullptr;
  return land_torch(arrival, request, home.get() == Py_None ? nullptr : home.get());
}

}  // namespace

// A tensor in: unchanged where it can be, else by the cheapest of a leaf on its memory, a move and
// a copy.
PyObject* tensor_to_torch(PyObject* tensor, const TorchRequest& request) {
  const Torch& torch = *request.torch;
  bool same_device = true;
  if (request.device) {
    Ref is_on = Ref::steal(
        PyObject_CallFunctionObjArgs(torch.is_on, tensor, request.device.get(), nullptr));
    if (!is_on) return nullptr;
    same_device = is_on.get() == Py_True;
  }
  Ref dtype_name = Ref::steal(PyObject_CallOneArg(torch.dtype_name, tensor));
  if (!dtype_name) return nullptr;
  const char* dtype_text = PyUnicode_AsUTF8(dtype_name.get());
  if (dtype_text == nullptr) return nullptr;
  const auto dtype = dtype_from_name(dtype_text);
  const bool same_dtype = !request.options.dtype || request.options.dtype == dtype;
  const DType to = request.options.dtype.value_or(dtype.value_or(DType::kBits8));
  if (request.requires_grad && !can_require_grad(to, same_dtype ? dtype_text : name(to))) {
    return nullptr;
  }
  if (same_device && same_dtype && request.options.copy != Copy::kAlways) {
    return request.requires_grad ? PyObject_CallOneArg(torch.leaf, tensor) : Py_NewRef(tensor);
  }
  if (request.never_copies()) {
    const std::string why = same_device ? "another dtype (" + std::string(dtype_text) + " to " +
                                              std::string(name(to)) + ")"
                                        : "another device";
    return raise(PyExc_ValueError,
                 "copy=False, but " + why + " needs a copy; pass copy=None or copy=True");
  }
  // Casts happen on the host (contract C4), and copies that stay there are made here as well. A
  // move alone, and a copy of what only PyTorch can copy, is PyTorch's own.
  Arrival arrival;
  if (!same_dtype || (same_device && is_plain_tensor(torch, tensor))) {
    const Arrived arrived = arrive_tensor(torch, tensor, arrival);
    if (!same_dtype || (arrived == Arrived::kYes && !arrival.facts.on_device)) {
      return arrived == Arrived::kYes ? land_at_home(arrival, request, tensor) : nullptr;
    }
    PyErr_Clear();
  }
  PyObject* device = request.device ? request.device.get() : Py_None;
  return finish(request, Ref::steal(PyObject_CallFunctionObjArgs(torch.move, tensor, device,
                                                                 Py_True, nullptr)));
}

bool share_at_sight(const Torch& torch, PyObject* array, Ref& result) {
  static_assert(alignof(double) == sizeof(double));  // NumPy's "aligned" is the plan's
  auto* ndarray = reinterpret_cast<PyArrayObject*>(array);
  // Row-major, aligned, writable and in native byte order: nothing of contract T3 is left to ask.
  if (torch.exchange == nullptr || !PyArray_ISCARRAY(ndarray)) return false;
  const auto type = numpy_type(PyArray_DESCR(ndarray));
  if (!type || torch.dtypes[static_cast<std::size_t>(type->dtype)] == nullptr) return false;
  const ArrayView view{PyArray_DATA(ndarray), type->dtype, false, false, layout_of(ndarray)};
  if (count_elems(view.layout) == 0) return false;
  result = Ref::steal(share_exchange(torch, view, array));
  return true;
}

PyObject* land_torch(Arrival& arrival, const TorchRequest& request, PyObject* home) {
  if (arrival.opaque) {
    return raise(
        PyExc_TypeError,
        "an array of dtype " +
            dtype_text(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(arrival.object.get()))) +
            " has no torch dtype; convert it to numbers first");
  }
  Options options = request.options;
  if (!settle_options(arrival, options)) return nullptr;
  const DType to = options.dtype.value_or(arrival.facts.view.dtype);
  if (!check_torch_dtype(*request.torch, to)) return nullptr;
  if (request.requires_grad && !can_require_grad(to, name(to))) return nullptr;
  Result<Plan> plan = make_plan(arrival.facts, options, kTorchTarget);
  if (!plan.ok()) return raise(plan.status());
  if (plan->path == Path::kFramework) {
    Arrival host;
    return fetch(arrival, host) ? land_torch(host, request, home) : nullptr;
  }
  if (home != nullptr && request.never_copies()) {
    return raise(PyExc_ValueError,
                 "copy=False, but another device needs a copy; pass copy=None or copy=True");
  }
  // Nothing of an empty array has to be kept: its producer's deleter runs before we return
  // (contract N9).
  const bool is_share = plan->path == Path::kShare && count_elems(arrival.facts.view.layout) > 0;
  Ref tensor =
      Ref::steal(is_share ? share(*request.torch, arrival) : copy(*request.torch, arrival, *plan));
  return send(request, std::move(tensor), home);
}

}  // namespace ashore::python
