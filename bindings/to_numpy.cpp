// ashore.to_numpy and ashore.tensors_to_numpy: arguments in, arrays out. The door of the hot path.
#include "functions.hpp"
#include "land.hpp"
#include "walk.hpp"

namespace ashore::python {
namespace {

// Convert an object that may be an array. kNoArray: it is none.
Arrived convert_array(PyObject* object, const NumpyRequest& request, Ref& result) {
  const Torch* torch = loaded_torch();
  const bool is_plain = torch != nullptr && is_plain_tensor(*torch, object);
  if (is_plain && request.changes_nothing()) {
    result = share_fresh(*torch, object);
    if (result) return Arrived::kYes;
  }
  Arrival arrival;
  const Arrived arrived = is_plain ? arrive_tensor(*torch, object, arrival)
                                   : arrive(object, request.never_copies(), arrival);
  if (arrived != Arrived::kYes) return arrived;
  result = Ref::steal(land_numpy(arrival, request));
  return result ? Arrived::kYes : Arrived::kError;
}

Arrived convert_numbers(PyObject* object, const NumpyRequest& request, Ref& result) {
  Arrival arrival;
  const Arrived arrived = arrive_numbers(object, nullptr, arrival);
  if (arrived != Arrived::kYes) return arrived;
  result = Ref::steal(land_numpy(arrival, request));
  return result ? Arrived::kYes : Arrived::kError;
}

Arrived refuse_out() {
  raise(PyExc_ValueError, "out= takes one array, and the argument is a container of them");
  return Arrived::kError;
}

class NumpyWalk final : public Walk {
 public:
  explicit NumpyWalk(const NumpyRequest& request) : request_(request) {}

 private:
  Arrived convert(PyObject* leaf, Ref& result) override {
    return request_.out == nullptr ? convert_array(leaf, request_, result) : refuse_out();
  }

  const NumpyRequest& request_;
};

// The argument itself: an array, else numbers, else a container.
PyObject* convert_argument(PyObject* object, const NumpyRequest& request) {
  Ref result;
  Arrived arrived = Arrived::kNoArray;
  if (!is_surely_container(object)) arrived = convert_array(object, request, result);
  if (arrived == Arrived::kNoArray) arrived = convert_numbers(object, request, result);
  if (arrived == Arrived::kNoArray) {
    NumpyWalk walk(request);
    arrived = walk.run(object, result);
    if (arrived == Arrived::kYes && request.out != nullptr)
      arrived = refuse_out();  // an empty container
  }
  if (arrived == Arrived::kNoArray) return raise_no_array(object);
  return arrived == Arrived::kYes ? result.release() : nullptr;
}

}  // namespace

PyObject* to_numpy(PyObject*, PyObject* const* arguments, Py_ssize_t count,
                   PyObject* keyword_names) {
  if (!load_numpy()) return nullptr;
  NumpyRequest request;
  PyObject* object = nullptr;
  if (count == 1 && keyword_names == nullptr) {
    object = arguments[0];
  } else {
    PyObject *copy = nullptr, *dtype = nullptr, *order = nullptr, *out = nullptr;
    PyObject** positional[] = {&object};
    const Keyword keywords[] = {{names().copy, &copy},
                                {names().dtype, &dtype},
                                {names().order, &order},
                                {names().out, &out}};
    if (!read_arguments("to_numpy", arguments, count, keyword_names, positional, keywords) ||
        !read_copy(copy, request.options.copy) || !read_order(order, request.options.order) ||
        !read_numpy_dtype(dtype, request)) {
      return nullptr;
    }
    request.out = out == Py_None ? nullptr : out;
  }
  return convert_argument(object, request);
}

PyObject* tensors_to_numpy(PyObject*, PyObject* const* arguments, Py_ssize_t count,
                           PyObject* keyword_names) {
  if (!load_numpy()) return nullptr;
  NumpyRequest request;
  PyObject *copy = nullptr, *dtype = nullptr;
  const Keyword keywords[] = {{names().copy, &copy}, {names().dtype, &dtype}};
  if (!read_arguments("tensors_to_numpy", arguments + count, 0, keyword_names, {}, keywords) ||
      !read_copy(copy, request.options.copy) || !read_numpy_dtype(dtype, request)) {
    return nullptr;
  }
  Ref arrays = Ref::steal(PyTuple_New(count));
  if (!arrays) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref array = Ref::steal(convert_argument(arguments[i], request));
    if (!array) return nullptr;
    if (!PyArray_Check(array.get())) {
      return raise(PyExc_TypeError,
                   "argument " + std::to_string(i + 1) +
                       " of tensors_to_numpy is a container of class " + class_name(arguments[i]) +
                       "; pass its tensors one by one (*tensors), or use to_numpy");
    }
    PyTuple_SET_ITEM(arrays.get(), i, array.release());
  }
  return arrays.release();
}

}  // namespace ashore::python
