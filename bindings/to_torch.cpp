// ashore.to_torch: arguments in, tensors out.
#include "functions.hpp"
#include "land.hpp"
#include "walk.hpp"

namespace ashore::python {
namespace {

// The device of an array's tensor: null for the host.
PyObject* home_of(const TorchRequest& request) {
  return request.is_host ? nullptr : request.device.get();
}

Arrived convert_array(PyObject* object, const TorchRequest& request, Ref& result) {
  const bool is_ndarray = PyArray_CheckExact(object);
  if (!is_ndarray && is_tensor(*request.torch, object)) {
    result = Ref::steal(tensor_to_torch(object, request));
    return result ? Arrived::kYes : Arrived::kError;
  }
  if (is_ndarray && request.changes_nothing() && share_at_sight(*request.torch, object, result)) {
    return result ? Arrived::kYes : Arrived::kError;
  }
  Arrival arrival;
  const Arrived arrived = is_ndarray ? arrive_ndarray(object, arrival)
                                     : arrive(object, request.never_copies(), arrival);
  if (arrived != Arrived::kYes) return arrived;
  result = Ref::steal(land_torch(arrival, request, home_of(request)));
  return result ? Arrived::kYes : Arrived::kError;
}

class TorchWalk final : public Walk {
 public:
  explicit TorchWalk(const TorchRequest& request) : request_(request) {}

 private:
  Arrived convert(PyObject* leaf, Ref& result) override {
    return convert_array(leaf, request_, result);
  }

  const TorchRequest& request_;
};

// Read `device=` and `dtype=`, which are PyTorch's own words.
bool read_torch_words(PyObject* device, PyObject* dtype, TorchRequest& request) {
  if (dtype != nullptr && dtype != Py_None) {
    Ref text = Ref::steal(PyObject_CallOneArg(request.torch->parse_dtype, dtype));
    const char* chosen = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (chosen == nullptr) return false;
    request.options.dtype = dtype_from_name(chosen);
  }
  if (device != nullptr && device != Py_None) {
    request.device = Ref::steal(PyObject_CallOneArg(request.torch->parse_device, device));
    if (!request.device) return false;
    Ref kind = Ref::steal(PyObject_GetAttrString(request.device.get(), "type"));
    if (!kind) return false;
    request.is_host = PyUnicode_CompareWithASCIIString(kind.get(), "cpu") == 0;
  }
  return true;
}

// The argument itself: an array, else numbers, else a container.
PyObject* convert_argument(PyObject* object, const TorchRequest& request) {
  Ref result;
  Arrived arrived = Arrived::kNoArray;
  if (!is_surely_container(object)) arrived = convert_array(object, request, result);
  if (arrived == Arrived::kNoArray) {
    Arrival arrival;
    arrived = arrive_numbers(object, request.torch, arrival);
    if (arrived == Arrived::kYes) return land_torch(arrival, request, home_of(request));
  }
  if (arrived == Arrived::kNoArray) {
    TorchWalk walk(request);
    arrived = walk.run(object, result);
  }
  if (arrived == Arrived::kNoArray) return raise_no_array(object);
  return arrived == Arrived::kYes ? result.release() : nullptr;
}

}  // namespace

PyObject* to_torch(PyObject*, PyObject* const* arguments, Py_ssize_t count,
                   PyObject* keyword_names) {
  if (!load_numpy()) return nullptr;
  TorchRequest request;
  request.torch = import_torch();
  if (request.torch == nullptr) return nullptr;
  if (count == 1 && keyword_names == nullptr) return convert_argument(arguments[0], request);
  PyObject *object = nullptr, *device = nullptr, *dtype = nullptr, *copy = nullptr,
           *requires_grad = nullptr;
  PyObject** positional[] = {&object};
  const Keyword keywords[] = {{names().device, &device},
                              {names().dtype, &dtype},
                              {names().copy, &copy},
                              {names().requires_grad, &requires_grad}};
  if (!read_arguments("to_torch", arguments, count, keyword_names, positional, keywords) ||
      !read_copy(copy, request.options.copy) || !read_torch_words(device, dtype, request)) {
    return nullptr;
  }
  if (requires_grad != nullptr) {
    const int wanted = PyObject_IsTrue(requires_grad);
    if (wanted < 0) return nullptr;
    request.requires_grad = wanted == 1;
  }
  return convert_argument(object, request);
}

}  // namespace ashore::python
