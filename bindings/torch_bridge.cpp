// Implements torch_bridge.hpp.
#include "torch_bridge.hpp"

#include "core/checked.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

namespace ashore::python {
namespace {

Torch g_torch;
bool g_loaded = false;

PyObject* no_arguments() {
  static PyObject* const empty = PyTuple_New(0);
  return empty;
}

// Return PyTorch's C exchange API of a major version that we speak, or null.
const dlpack::ExchangeAPI* find_exchange_api(PyObject* tensor_type) {
  Ref capsule = Ref::steal(PyObject_GetAttrString(tensor_type, "__dlpack_c_exchange_api__"));
  if (!capsule || !PyCapsule_IsValid(capsule.get(), "dlpack_exchange_api")) {
    PyErr_Clear();
    return nullptr;
  }
  auto* api = static_cast<const dlpack::ExchangeAPI*>(
      PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  while (api != nullptr && api->version.major != dlpack::kMajorVersion) api = api->prev_api;
  const bool complete = api != nullptr && api->dltensor_from_py_object_no_sync != nullptr &&
                        api->managed_tensor_to_py_object_no_sync != nullptr;
  return complete ? api : nullptr;
}

// Find a function of PyTorch's C++ libraries, which are loaded, but maybe not for everybody to see.
template <typename Function>
void find_symbol(const char* library_name, const char* symbol_name, Function*& function) {
  void* symbol = dlsym(RTLD_DEFAULT, symbol_name);
  if (symbol == nullptr) {
    void* library = dlopen(library_name, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return;
    symbol = dlsym(library, symbol_name);
    dlclose(library);
  }
  function = reinterpret_cast<Function*>(symbol);
}

// Say whether two readings of a tensor say the same.
bool same(const dlpack::Tensor& a, const dlpack::Tensor& b) {
  return a.data == b.data && a.byte_offset == b.byte_offset && a.device.type == b.device.type &&
         a.device.id == b.device.id && a.dtype.code == b.dtype.code &&
         a.dtype.bits == b.dtype.bits && a.dtype.lanes == b.dtype.lanes && a.ndim == b.ndim &&
         std::equal(a.shape, a.shape + a.ndim, b.shape) &&
         std::equal(a.strides, a.strides + a.ndim, b.strides);
}

bool find_dtypes(PyObject* ours, Torch& torch) {
  Ref dtypes = Ref::steal(PyObject_GetAttrString(ours, "DTYPES"));
  Ref numpy_dtypes = Ref::steal(PyObject_GetAttrString(ours, "NUMPY_DTYPES"));
  Ref carriers = Ref::steal(PyObject_GetAttrString(ours, "CARRIERS"));
  if (!dtypes || !numpy_dtypes || !carriers) return false;
  PyObject *name = nullptr, *dtype = nullptr;
  for (Py_ssize_t position = 0; PyDict_Next(dtypes.get(), &position, &name, &dtype) != 0;) {
    const char* text = PyUnicode_AsUTF8(name);
    if (text == nullptr) return false;
    const auto known = dtype_from_name(text);
    if (!known) continue;
    const int is_taken = PySet_Contains(numpy_dtypes.get(), dtype);
    Ref size = Ref::steal(PyLong_FromSize_t(size_bytes(*known)));
    if (is_taken < 0 || !size) return false;
    PyObject* carrier = is_taken == 1 ? dtype : PyDict_GetItemWithError(carriers.get(), size.get());
    if (carrier == nullptr) return false;
    torch.dtypes[static_cast<std::size_t>(*known)] = Py_NewRef(dtype);
    torch.carriers[static_cast<std::size_t>(*known)] = Py_NewRef(carrier);
  }
  return true;
}

bool load(PyObject* module) {
  Ref tensor = Ref::steal(PyObject_GetAttrString(module, "Tensor"));
  Ref nn = Ref::steal(PyObject_GetAttrString(module, "nn"));
  if (!tensor || !nn) {  // half imported: no tensor can exist yet
    PyErr_Clear();
    return false;
  }
  Ref parameter = Ref::steal(PyObject_GetAttrString(nn.get(), "Parameter"));
  Ref storage = Ref::steal(PyObject_GetAttrString(module, "UntypedStorage"));
  Ref ours = Ref::steal(PyImport_ImportModule("ashore._torch"));
  Ref c_module = Ref::steal(PyObject_GetAttrString(module, "_C"));
  if (!parameter || !storage || !c_module || !ours) return false;

  Ref samples = Ref::steal(PyObject_CallMethod(ours.get(), "samples", nullptr));
  if (!samples) return false;

  Torch torch;
  torch.tensor = reinterpret_cast<PyTypeObject*>(tensor.get());
  torch.parameter = reinterpret_cast<PyTypeObject*>(parameter.get());
  torch.exchange = find_exchange_api(tensor.get());
  if (!torch.facts.find(tensor.get(), storage.get(), samples.get(), torch.exchange) ||
      !torch.modes.find(c_module.get()) || !torch.data_ptr.find(tensor.get(), "data_ptr") ||
      !torch.dtype.find(tensor.get(), "dtype") || !torch.is_conj.find(tensor.get(), "is_conj") ||
      !torch.untyped_storage.find(tensor.get(), "untyped_storage") ||
      !torch.numpy.find(tensor.get(), "numpy") || !torch.detach.find(tensor.get(), "detach") ||
      !torch.resizable.find(storage.get(), "resizable")) {
    return false;
  }
  const struct {
    PyObject** slot;
    PyObject* owner;
    const char* name;
  } rows[] = {
      {&torch.view, tensor.get(), "view"},
      {&torch.describe, ours.get(), "describe"},
      {&torch.fetch, ours.get(), "fetch"},
      {&torch.lock, ours.get(), "lock"},
      {&torch.address, ours.get(), "address"},
      {&torch.empty_strided, module, "empty_strided"},
      {&torch.host, ours.get(), "HOST"},
      {&torch.empty_guarded, ours.get(), "empty_guarded"},
      {&torch.wrap, ours.get(), "wrap"},
      {&torch.is_on, ours.get(), "is_on"},
      {&torch.device_of, ours.get(), "device_of"},
      {&torch.move, ours.get(), "move"},
      {&torch.parse_device, ours.get(), "parse_device"},
      {&torch.parse_dtype, ours.get(), "parse_dtype"},
      {&torch.dtype_name, ours.get(), "dtype_name"},
      {&torch.default_dtypes, ours.get(), "default_dtypes"},
      {&torch.leaf, ours.get(), "leaf"},
      {&torch.require_grad, ours.get(), "require_grad"},
  };
  for (const auto& row : rows) {
    *row.slot = PyObject_GetAttrString(row.owner, row.name);
    if (*row.slot == nullptr) return false;
  }
  if (!find_dtypes(ours.get(), torch)) return false;
  tensor.release();
  parameter.release();
  g_torch = torch;
  g_loaded = true;
  return true;
}

}  // namespace

bool Method::find(PyObject* type, const char* name) {
  descriptor_ = PyObject_GetAttrString(type, name);
  if (descriptor_ == nullptr) return false;
  if (Py_TYPE(descriptor_) == &PyMethodDescr_Type) {
    const PyMethodDef* method = reinterpret_cast<PyMethodDescrObject*>(descriptor_)->d_method;
    if (method->ml_flags == METH_NOARGS) function_ = method->ml_meth;
    if (method->ml_flags == (METH_VARARGS | METH_KEYWORDS)) {
      with_keywords_ =
          reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(method->ml_meth));
    }
  }
  return true;
}

PyObject* Method::operator()(PyObject* self) const {
  if (function_ != nullptr) return function_(self, nullptr);
  if (with_keywords_ != nullptr) return with_keywords_(self, no_arguments(), nullptr);
  return PyObject_CallOneArg(descriptor_, self);
}

int Method::truth(PyObject* self) const {
  Ref result = Ref::steal((*this)(self));
  if (!result) return -1;
  if (result.get() == Py_False) return 0;
  if (result.get() == Py_True) return 1;
  return PyObject_IsTrue(result.get());
}

bool Property::find(PyObject* type, const char* name) {
  name_ = PyUnicode_InternFromString(name);
  Ref descriptor = Ref::steal(PyObject_GetAttrString(type, name));
  if (name_ == nullptr || !descriptor) return false;
  if (Py_TYPE(descriptor.get()) == &PyGetSetDescr_Type) {
    const PyGetSetDef* property =
        reinterpret_cast<PyGetSetDescrObject*>(descriptor.get())->d_getset;
    get_ = property->get;
    closure_ = property->closure;
  }
  return true;
}

PyObject* Property::operator()(PyObject* self) const {
  return get_ != nullptr ? get_(self, closure_) : PyObject_GetAttr(self, name_);
}

void* NativeFacts::implementation(PyObject* tensor) const {
  void* address = nullptr;
  std::memcpy(&address, place(tensor), sizeof(address));
  return address;
}

int NativeFacts::slow_requires_grad(PyObject* tensor) const {
  Ref truth = Ref::steal(grad_(tensor));
  return truth ? PyObject_IsTrue(truth.get()) : -1;
}

// Say whether all samples hold their implementation at the offset, and both functions answer as
// Python does.
bool NativeFacts::agrees(PyObject* samples, std::size_t offset_bytes) {
  offset_bytes_ = offset_bytes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(samples); ++i) {
    PyObject* tensor = PyTuple_GET_ITEM(samples, i);
    if (Py_TYPE(tensor)->tp_basicsize < static_cast<Py_ssize_t>(offset_bytes + sizeof(void*)))
      return false;
    Ref address = Ref::steal(PyObject_GetAttrString(tensor, "_cdata"));
    if (!address) return false;
    void* known = PyLong_AsVoidPtr(address.get());
    if (known == nullptr || known != implementation(tensor)) return false;
    if (native_is_neg(tensor) != neg_.truth(tensor)) return false;
    if (native_requires_grad(tensor) != slow_requires_grad(tensor)) return false;
  }
  return true;
}

bool NativeFacts::reads_alike(PyObject* samples) const {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(samples); ++i) {
    PyObject* tensor = PyTuple_GET_ITEM(samples, i);
    dlpack::Tensor official{}, native{};
    if (exchange_->dltensor_from_py_object_no_sync(tensor, &official) != 0) return false;
    if (!read(tensor, native) || !same(official, native)) return false;
  }
  return true;
}

bool NativeFacts::read(PyObject* tensor, dlpack::Tensor& read) const {
  if (read_ != nullptr) {
    try {
      read_(place(tensor), &read);
      return true;
    } catch (...) {  // a layout or dtype that DLPack has not, a wrapper without memory
      return false;
    }
  }
  if (exchange_ == nullptr) return false;
  if (exchange_->dltensor_from_py_object_no_sync(tensor, &read) == 0) return true;
  PyErr_Clear();
  return false;
}

bool NativeFacts::measures_alike(PyObject* samples) const {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(samples); ++i) {
    PyObject* tensor = PyTuple_GET_ITEM(samples, i);
    std::int64_t size[2], offset[2];
    if (!measure_natively(tensor, size[0], offset[0])) return false;
    if (!measure_slowly(tensor, size[1], offset[1])) return false;
    if (size[0] != size[1] || offset[0] != offset[1]) return false;
  }
  return true;
}

bool NativeFacts::measure_natively(PyObject* tensor, std::int64_t& size_bytes,
                                   std::int64_t& offset) const {
  return get_storage_size_(place(tensor), &size_bytes) == 0 &&
         get_storage_offset_(place(tensor), &offset) == 0;
}

bool NativeFacts::measure_slowly(PyObject* tensor, std::int64_t& size_bytes,
                                 std::int64_t& offset) const {
  Ref storage = Ref::steal(storage_(tensor));
  Ref size = Ref::steal(storage ? nbytes_(storage.get()) : nullptr);
  Ref first = Ref::steal(size ? storage_offset_(tensor) : nullptr);
  if (!first) return false;
  size_bytes = PyLong_AsLongLong(size.get());
  offset = PyLong_AsLongLong(first.get());
  return PyErr_Occurred() == nullptr;
}

int NativeFacts::storage_holds(PyObject* tensor, std::int64_t end_bytes,
                               std::int64_t item_bytes) const {
  std::int64_t size = 0, offset = 0;
  const bool is_native = get_storage_size_ != nullptr && measure_natively(tensor, size, offset);
  if (!is_native && !measure_slowly(tensor, size, offset)) return -1;
  std::int64_t end = 0;
  return checked_multiply(offset, item_bytes, end) && checked_add(end, end_bytes, end) &&
         end <= size;
}

bool NativeFacts::find(PyObject* tensor_type, PyObject* storage_type, PyObject* samples,
                       const dlpack::ExchangeAPI* exchange) {
  if (!neg_.find(tensor_type, "is_neg") || !grad_.find(tensor_type, "requires_grad") ||
      !storage_.find(tensor_type, "untyped_storage") || !nbytes_.find(storage_type, "nbytes") ||
      !storage_offset_.find(tensor_type, "storage_offset")) {
    return false;
  }
  exchange_ = exchange;
  find_symbol("libtorch_cpu.so", "_ZN2at6native6is_negERKNS_6TensorE", is_neg_);
  find_symbol("libc10.so", "_ZNK3c1010TensorImpl13requires_gradEv", requires_grad_);
  if (is_neg_ == nullptr || requires_grad_ == nullptr) return true;
  // The Python object starts with the tensor, or with a flag and then the tensor.
  native_ = agrees(samples, sizeof(PyObject)) || agrees(samples, sizeof(PyObject) + sizeof(void*));
  if (native_ && exchange != nullptr) {
    find_symbol("libtorch_cpu.so", "_ZN2at17toDLPackNonOwningERKNS_6TensorEP8DLTensor", read_);
    if (read_ != nullptr && !reads_alike(samples)) read_ = nullptr;
  }
  if (native_) {
    find_symbol("libtorch_cpu.so", "aoti_torch_get_storage_offset", get_storage_offset_);
    find_symbol("libtorch_cpu.so", "aoti_torch_get_storage_size", get_storage_size_);
    if (get_storage_offset_ == nullptr || get_storage_size_ == nullptr || !measures_alike(samples))
      get_storage_size_ = nullptr;
  }
  PyErr_Clear();
  return true;
}

bool Modes::find(PyObject* c_module) {
  function_modes_.function = PyObject_GetAttrString(c_module, "_is_torch_function_mode_enabled");
  dispatch_modes_.function = PyObject_GetAttrString(c_module, "_len_torch_dispatch_stack");
  if (function_modes_.function == nullptr || dispatch_modes_.function == nullptr) return false;
  find_symbol("libc10.so", "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv", count_dispatch_);
  if (count_dispatch_ != nullptr) {
    find_symbol("libtorch_cpu.so", "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv",
                count_function_);
  }
  return true;
}

bool Modes::Question::truth() const {
  const bool is_bare =
      PyCFunction_CheckExact(function) && PyCFunction_GET_FLAGS(function) == METH_NOARGS;
  Ref answer = Ref::steal(
      is_bare ? PyCFunction_GET_FUNCTION(function)(PyCFunction_GET_SELF(function), nullptr)
              : PyObject_CallNoArgs(function));
  const int truth = answer ? PyObject_IsTrue(answer.get()) : -1;
  if (truth < 0) PyErr_Clear();
  return truth != 0;
}

void* address_of(const Torch& torch, PyObject* tensor) {
  dlpack::Tensor read;
  if (torch.facts.read(tensor, read)) {
    return read.data == nullptr ? nullptr : static_cast<char*>(read.data) + read.byte_offset;
  }
  Ref address =
      Ref::steal(is_plain_tensor(torch, tensor) ? torch.data_ptr(tensor)
                                                : PyObject_CallOneArg(torch.address, tensor));
  void* known = address ? PyLong_AsVoidPtr(address.get()) : nullptr;
  PyErr_Clear();
  return known;
}

const Torch* loaded_torch() {
  if (g_loaded) return &g_torch;
  PyObject* module = loaded_module(names().torch);
  return module != nullptr && load(module) ? &g_torch : nullptr;
}

const Torch* import_torch() {
  if (const Torch* torch = loaded_torch()) return torch;
  if (PyErr_Occurred()) return nullptr;
  Ref module = Ref::steal(PyImport_Import(names().torch));
  if (!module) {
    if (PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) {
      PyErr_Clear();
      raise(PyExc_ModuleNotFoundError, "to_torch needs PyTorch (pip install 'ashore[torch]')");
    }
    return nullptr;
  }
  const Torch* torch = loaded_torch();
  if (torch == nullptr && !PyErr_Occurred()) {
    raise(PyExc_RuntimeError, "the module torch that is loaded is not PyTorch");
  }
  return torch;
}

}  // namespace ashore::python
