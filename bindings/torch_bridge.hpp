// PyTorch's side of the border: its C exchange API and the method slots that the hot path calls.
// The rest of PyTorch's surface is Python's business: ashore/_torch.py, called from here when
// needed.
#pragma once

#include "python.hpp"

#include <ashore/dlpack.hpp>
#include <ashore/dtype.hpp>

#include <cstring>

namespace ashore::python {

/// A method of a C type, looked up once and called without attribute access.
class Method {
 public:
  /// Look `name` up in the dictionaries of `type` and its bases. Returns false with an error set.
  bool find(PyObject* type, const char* name);
  /// Call it without arguments. Null with an error set.
  PyObject* operator()(PyObject* self) const;
  /// Call it and return its truth; -1 with an error set.
  int truth(PyObject* self) const;

 private:
  PyObject* descriptor_ = nullptr;
  PyCFunction function_ = nullptr;  // set where it takes no arguments
  PyCFunctionWithKeywords with_keywords_ = nullptr;
};

/// A read-only property of a C type, looked up once and read without attribute access.
class Property {
 public:
  /// Look `name` up. Returns false with an error set.
  bool find(PyObject* type, const char* name);
  /// Read it. Null with an error set.
  PyObject* operator()(PyObject* self) const;

 private:
  PyObject* name_ = nullptr;
  getter get_ = nullptr;
  void* closure_ = nullptr;
};

/// Whether a mode of PyTorch is active on this thread. PyTorch's methods and functions ask modes
/// first, and a mode may answer anything: then the long way is taken, which switches them off.
class Modes {
 public:
  /// Look the questions up in torch._C and, at a tenth of the cost, what answers them in PyTorch's
  /// C++ library. Returns false with an error set.
  bool find(PyObject* c_module);
  bool any() const {
    if (count_function_ == nullptr) return function_modes_.truth() || dispatch_modes_.truth();
    return count_function_() > 0 || count_dispatch_() > 0;
  }

 private:
  struct Question {
    bool truth() const;
    PyObject* function = nullptr;
  };
  Question function_modes_, dispatch_modes_;
  std::int64_t (*count_function_)() = nullptr;  // at::impl::PythonTorchFunctionTLS::stack_len()
  std::int64_t (*count_dispatch_)() = nullptr;  // c10::impl::TorchDispatchModeTLS::stack_len()
};

/// Facts of a tensor asked of PyTorch's C++ library itself, at a tenth of what the Python slots
/// cost, and a quarter of the C exchange API (docs/decisions/0003.md).
///
/// All are exported functions. They take the tensor's implementation, whose place in PyTorch's
/// Python object is found out at load by comparing with the public `_cdata`; then the answers are
/// compared with the official ones on tensors with and without each property. Where anything
/// differs, the Python slots and the exchange API are called.
class NativeFacts {
 public:
  /// Prepare, with sample tensors and the exchange API (null before 2.10). Returns false with an
  /// error set.
  bool find(PyObject* tensor_type, PyObject* storage_type, PyObject* samples,
            const dlpack::ExchangeAPI* exchange);
  /// Read where the memory is and how it is laid out, borrowed from the tensor. Returns false,
  /// without an error, where PyTorch does not say.
  bool read(PyObject* tensor, dlpack::Tensor& read) const;
  /// Say whether the neg bit is set; -1 with an error set.
  int is_neg(PyObject* tensor) const {
    return native_ ? native_is_neg(tensor) : neg_.truth(tensor);
  }
  /// Say whether the storage of a host tensor holds `end_bytes` from the first element on. A
  /// storage that was shrunk, or a refused resize_, which changes the shape first, leaves tensors
  /// behind for which that is not so. -1 with an error set.
  int storage_holds(PyObject* tensor, std::int64_t end_bytes, std::int64_t item_bytes) const;
  /// Say whether the tensor requires grad; -1 with an error set.
  int requires_grad(PyObject* tensor) const {
    return native_ ? native_requires_grad(tensor) : slow_requires_grad(tensor);
  }

 private:
  // Where the object holds its at::Tensor, which is one pointer to the implementation.
  const char* place(PyObject* tensor) const {
    return reinterpret_cast<const char*>(tensor) + offset_bytes_;
  }
  void* implementation(PyObject* tensor) const;
  int native_is_neg(PyObject* tensor) const { return is_neg_(place(tensor)) ? 1 : 0; }
  int native_requires_grad(PyObject* tensor) const {
    return requires_grad_(implementation(tensor)) ? 1 : 0;
  }
  int slow_requires_grad(PyObject* tensor) const;
  bool agrees(PyObject* samples, std::size_t offset_bytes);
  bool reads_alike(PyObject* samples) const;
  bool measures_alike(PyObject* samples) const;
  bool measure_natively(PyObject* tensor, std::int64_t& size_bytes, std::int64_t& offset) const;
  bool measure_slowly(PyObject* tensor, std::int64_t& size_bytes, std::int64_t& offset) const;

  Method neg_, storage_, nbytes_, storage_offset_;
  Property grad_;
  bool native_ = false;
  bool (*is_neg_)(const void*) = nullptr;         // at::native::is_neg(const at::Tensor&)
  bool (*requires_grad_)(const void*) = nullptr;  // c10::TensorImpl::requires_grad() const
  const dlpack::ExchangeAPI* exchange_ = nullptr;
  // at::toDLPackNonOwning(const at::Tensor&, DLTensor*), what the exchange API itself calls
  void (*read_)(const void*, dlpack::Tensor*) = nullptr;
  // aoti_torch_get_storage_size and _offset, of PyTorch's stable C interface; 0 is success
  std::int32_t (*get_storage_size_)(const void*, std::int64_t*) = nullptr;
  std::int32_t (*get_storage_offset_)(const void*, std::int64_t*) = nullptr;
  std::size_t offset_bytes_ = 0;
};

/// What ashore knows of the loaded PyTorch. Made once, never destroyed.
struct Torch {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* parameter = nullptr;
  const dlpack::ExchangeAPI* exchange = nullptr;  ///< null before 2.10
  NativeFacts facts;
  Modes modes;
  Property dtype;
  Method is_conj, untyped_storage, resizable, numpy, detach, data_ptr;
  PyObject* dtypes[kDTypeCount] =
      {};                    ///< the torch.dtype of each of the core's; null where it has none
  PyObject* view = nullptr;  ///< Tensor.view
  PyObject* empty_strided = nullptr;  ///< torch.empty_strided
  PyObject* host = nullptr;           ///< torch.device("cpu")
  PyObject* carriers[kDTypeCount] =
      {};  ///< of each: itself if Tensor.numpy() takes it, else one of the same size that it takes
  // Functions of ashore/_torch.py, documented there.
  PyObject *describe = nullptr, *fetch = nullptr, *lock = nullptr, *address = nullptr,
           *empty_guarded = nullptr, *wrap = nullptr;
  PyObject *is_on = nullptr, *device_of = nullptr, *move = nullptr, *parse_device = nullptr,
           *parse_dtype = nullptr;
  PyObject *dtype_name = nullptr, *default_dtypes = nullptr;
  PyObject *leaf = nullptr, *require_grad = nullptr;
};

/// Return the address of a host tensor's first element; null where there is none. Runs no code of
/// others for a plain tensor, and allocates nothing that the garbage collector would count.
void* address_of(const Torch& torch, PyObject* tensor);

/// Return PyTorch if it is loaded, else null. Null with an error set only where it is broken.
const Torch* loaded_torch();
/// Import PyTorch if need be. Null with an error set where it is missing.
const Torch* import_torch();

/// Say whether the type is exactly Tensor or Parameter, whose slots run no Python code of others.
inline bool is_plain_tensor(const Torch& torch, PyObject* object) {
  return Py_TYPE(object) == torch.tensor || Py_TYPE(object) == torch.parameter;
}
inline bool is_tensor(const Torch& torch, PyObject* object) {
  return PyObject_TypeCheck(object, torch.tensor) != 0;
}

}  // namespace ashore::python
