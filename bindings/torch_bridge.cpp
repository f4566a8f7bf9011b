// Implements torch_bridge.hpp.
#include "torch_bridge.hpp"

#include <dlfcn.h>

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
void* find_symbol(const char* library_name, const char* symbol_name) {
  if (void* symbol = dlsym(RTLD_DEFAULT, symbol_name)) return symbol;
  void* library = dlopen(library_name, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* symbol = dlsym(library, symbol_name);
  dlclose(library);
  return symbol;
}

bool find_dtypes(PyObject* ours, Torch& torch) {
  Ref dtypes = Ref::steal(PyObject_GetAttrString(ours, "DTYPES"));
  if (!dtypes) return false;
  PyObject *name = nullptr, *dtype = nullptr;
  for (Py_ssize_t position = 0; PyDict_Next(dtypes.get(), &position, &name, &dtype) != 0;) {
    const char* text = PyUnicode_AsUTF8(name);
    if (text == nullptr) return false;
    if (const auto known = dtype_from_name(text))
      torch.dtypes[static_cast<std::size_t>(*known)] = Py_NewRef(dtype);
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
  if (!parameter || !storage || !ours) return false;

  Ref samples = Ref::steal(PyObject_CallMethod(ours.get(), "samples", nullptr));
  if (!samples) return false;

  Torch torch;
  torch.tensor = reinterpret_cast<PyTypeObject*>(tensor.get());
  torch.parameter = reinterpret_cast<PyTypeObject*>(parameter.get());
  torch.exchange = find_exchange_api(tensor.get());
  if (!torch.facts.find(tensor.get(), samples.get()) ||
      !torch.is_conj.find(tensor.get(), "is_conj") || !torch.dtype.find(tensor.get(), "dtype") ||
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
      {&torch.carrier_dtypes, ours.get(), "CARRIERS"},
      {&torch.numpy_dtypes, ours.get(), "NUMPY_DTYPES"},
      {&torch.describe, ours.get(), "describe"},
      {&torch.fetch, ours.get(), "fetch"},
      {&torch.lock, ours.get(), "lock"},
      {&torch.empty_strided, module, "empty_strided"},
      {&torch.host, ours.get(), "HOST"},
      {&torch.empty_guarded, ours.get(), "empty_guarded"},
      {&torch.wrap, ours.get(), "wrap"},
      {&torch.is_on, ours.get(), "is_on"},
      {&torch.to_device, ours.get(), "to_device"},
      {&torch.parse_device, ours.get(), "parse_device"},
      {&torch.parse_dtype, ours.get(), "parse_dtype"},
      {&torch.dtype_name, ours.get(), "dtype_name"},
      {&torch.default_dtypes, ours.get(), "default_dtypes"},
      {&torch.detach_leaf, ours.get(), "detach_leaf"},
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

bool NativeFacts::find(PyObject* tensor_type, PyObject* samples) {
  if (!neg_.find(tensor_type, "is_neg") || !grad_.find(tensor_type, "requires_grad")) return false;
  is_neg_ = reinterpret_cast<bool (*)(const void*)>(
      find_symbol("libtorch_cpu.so", "_ZN2at4_ops6is_neg4callERKNS_6TensorE"));
  requires_grad_ = reinterpret_cast<bool (*)(const void*)>(
      find_symbol("libc10.so", "_ZNK3c1010TensorImpl13requires_gradEv"));
  if (is_neg_ == nullptr || requires_grad_ == nullptr) return true;
  // The Python object starts with the tensor, or with a flag and then the tensor.
  native_ = agrees(samples, sizeof(PyObject)) || agrees(samples, sizeof(PyObject) + sizeof(void*));
  PyErr_Clear();
  return true;
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
