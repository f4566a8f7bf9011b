// PyTorch's side of the border: its C exchange API and the method slots that the hot path calls.
// The rest of PyTorch's surface is Python's business: ashore/_torch.py, called from here when needed.
#pragma once

#include "python.hpp"

#include <ashore/dlpack.hpp>
#include <ashore/dtype.hpp>

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

/// `is_neg` of the C++ library, which costs a fifth of the Python method (docs/decisions/0003-neg-bit.md).
///
/// The library's exported function takes a Tensor, which is one pointer. Where that pointer lies in PyTorch's Python
/// object is found out at load by comparing with the public `_cdata`, and the answers are compared with the method's on
/// tensors with and without the bit; where anything differs, the method is called.
class NegBit {
 public:
  /// Prepare, with sample tensors without and with the bit. Returns false with an error set.
  bool find(PyObject* tensor_type, PyObject* samples);
  /// Say whether a plain tensor's neg bit is set; -1 with an error set.
  int truth(PyObject* tensor) const {
    return native_ != nullptr ? native_truth(tensor) : method_.truth(tensor);
  }

 private:
  int native_truth(PyObject* tensor) const { return native_(reinterpret_cast<char*>(tensor) + offset_bytes_) ? 1 : 0; }
  bool agrees(PyObject* samples, std::size_t offset_bytes);

  Method method_;
  bool (*native_)(const void*) = nullptr;  // at::_ops::is_neg::call(const at::Tensor&)
  std::size_t offset_bytes_ = 0;
};

/// What ashore knows of the loaded PyTorch. Made once, never destroyed.
struct Torch {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* parameter = nullptr;
  const dlpack::ExchangeAPI* exchange = nullptr;  ///< null before 2.10
  NegBit neg_bit;
  Method is_conj, untyped_storage, resizable, numpy, detach;
  bool has_dtype[kDTypeCount] = {};   ///< which of the core's dtypes it has
  PyObject* view = nullptr;            ///< Tensor.view
  PyObject* carrier_dtypes = nullptr;  ///< item size in bytes -> torch.dtype that NumPy can hold
  // Functions of ashore/_torch.py, documented there.
  PyObject *describe = nullptr, *fetch = nullptr, *lock = nullptr, *empty = nullptr, *wrap = nullptr;
  PyObject *is_on = nullptr, *to_device = nullptr, *parse_device = nullptr, *parse_dtype = nullptr;
  PyObject *dtype_name = nullptr, *default_dtypes = nullptr;
  PyObject *detach_leaf = nullptr, *require_grad = nullptr;
};

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
