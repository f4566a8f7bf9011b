// Implements walk.hpp.
#include "walk.hpp"

namespace ashore::python {
namespace {

constexpr std::size_t kMaxNesting = 200;

// What arrays, and leaves that are none, look like at first sight.
bool is_leaf_at_sight(PyObject* object) {
  if (object == Py_None || PyUnicode_Check(object) || PyBytes_Check(object) ||
      PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object) ||
      PyType_Check(object) || PyArray_Check(object)) {
    return true;
  }
  const Torch* torch = loaded_torch();
  return torch != nullptr && is_tensor(*torch, object);
}

// Numbers are left alone inside containers; everything else may be an array. Asked first, for some
// of NumPy's scalars are Python's as well (np.float64, np.str_).
bool is_left_alone(PyObject* object) { return PyArray_IsScalar(object, Generic); }

PyObject* take_apart_function() {
  static PyObject* function = nullptr;
  if (function == nullptr) {
    Ref module = Ref::steal(PyImport_ImportModule("ashore._containers"));
    if (module) function = PyObject_GetAttrString(module.get(), "take_apart");
  }
  return function;
}

// Add a note to the error that is set, so that its traceback says where in the argument it
// happened.
void add_note(const std::string& path) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value != nullptr) {
    const std::string note = one_line("in x" + path);
    Ref done = Ref::steal(PyObject_CallMethod(value, "add_note", "s", note.c_str()));
    if (!done) PyErr_Clear();
  }
  PyErr_Restore(type, value, trace);
}

}  // namespace

Arrived Walk::run(PyObject* object, Ref& result) {
  const Arrived arrived = visit_container(object, result);
  if (arrived == Arrived::kError && !error_path_.empty()) add_note(error_path_);
  return arrived;
}

std::string Walk::path() const {
  std::string text;
  for (const Step& step : path_) {
    if (step.key == nullptr) {
      text += "[" + std::to_string(step.index) + "]";
      continue;
    }
    Ref shown = Ref::steal(step.is_field ? PyObject_Str(step.key) : PyObject_Repr(step.key));
    const char* key = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
    if (key == nullptr) PyErr_Clear();
    const std::string name = key != nullptr ? key : "?";
    text += step.is_field ? "." + name : "[" + name + "]";
  }
  return text;
}

// Keys show themselves by code of others, which must not meet the error, nor end it.
void Walk::remember_error_path() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  error_path_ = path();
  PyErr_Restore(type, value, trace);
}

Arrived Walk::visit(PyObject* object, Ref& result) {
  if (is_builtin_container(object)) return visit_container(object, result);
  if (is_left_alone(object)) return Arrived::kNoArray;
  if (!is_leaf_at_sight(object)) {
    const Arrived arrived = visit_container(object, result);
    if (arrived != Arrived::kNoArray) return arrived;
  }
  return convert(object, result);
}

Arrived Walk::visit_container(PyObject* object, Ref& result) {
  Ref parts;
  if (!is_builtin_container(object)) {
    PyObject* take_apart = take_apart_function();
    parts = Ref::steal(take_apart != nullptr ? PyObject_CallOneArg(take_apart, object) : nullptr);
    if (!parts) return Arrived::kError;
    if (parts.get() == Py_None) return Arrived::kNoArray;
  }
  auto [place, is_new] = met_.try_emplace(object);
  if (!is_new) {
    if (!place->second.second) {
      raise(PyExc_ValueError, "a container of class " + class_name(object) + " contains itself");
      return Arrived::kError;
    }
    result = Ref::borrow(place->second.second.get());
    return Arrived::kYes;
  }
  if (path_.size() >= kMaxNesting) {
    raise(PyExc_ValueError,
          "containers are nested past " + std::to_string(kMaxNesting) + " levels");
    return Arrived::kError;
  }
  place->second.first = Ref::borrow(object);
  const Arrived arrived = parts                       ? visit_parts(parts.get(), result)
                          : PyDict_CheckExact(object) ? visit_dict(object, result)
                                                      : visit_sequence(object, result);
  if (arrived == Arrived::kYes) met_[object].second = Ref::borrow(result.get());
  return arrived;
}

Arrived Walk::visit_child(PyObject* child, Step step, Ref& result) {
  path_.push_back(step);
  const Arrived arrived = visit(child, result);
  if (arrived == Arrived::kError && error_path_.empty()) remember_error_path();
  path_.pop_back();
  if (arrived == Arrived::kNoArray) result = Ref::borrow(child);
  return arrived == Arrived::kError ? Arrived::kError : Arrived::kYes;
}

// Conversions run code of others, which may change the source: walk a snapshot.
Arrived Walk::visit_sequence(PyObject* sequence, Ref& result) {
  const bool is_list = PyList_CheckExact(sequence);
  Ref items = is_list ? Ref::steal(PyList_AsTuple(sequence)) : Ref::borrow(sequence);
  if (!items) return Arrived::kError;
  const Py_ssize_t length = PyTuple_GET_SIZE(items.get());
  Ref made = Ref::steal(is_list ? PyList_New(length) : PyTuple_New(length));
  if (!made) return Arrived::kError;
  for (Py_ssize_t i = 0; i < length; ++i) {
    Ref child;
    if (visit_child(PyTuple_GET_ITEM(items.get(), i), {nullptr, i, false}, child) ==
        Arrived::kError) {
      return Arrived::kError;
    }
    if (is_list) {
      PyList_SET_ITEM(made.get(), i, child.release());
    } else {
      PyTuple_SET_ITEM(made.get(), i, child.release());
    }
  }
  result = std::move(made);
  return Arrived::kYes;
}

Arrived Walk::visit_dict(PyObject* dict, Ref& result) {
  Ref keys = Ref::steal(PyDict_Keys(dict));
  Ref values = Ref::steal(PyDict_Values(dict));
  Ref made = Ref::steal(PyDict_New());
  if (!keys || !values || !made) return Arrived::kError;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyList_GET_ITEM(keys.get(), i);
    Ref child;
    if (visit_child(PyList_GET_ITEM(values.get(), i), {key, i, false}, child) == Arrived::kError) {
      return Arrived::kError;
    }
    if (PyDict_SetItem(made.get(), key, child.get()) < 0) return Arrived::kError;
  }
  result = std::move(made);
  return Arrived::kYes;
}

// `parts` is (children, labels, are fields, rebuild), as _containers.take_apart makes it.
Arrived Walk::visit_parts(PyObject* parts, Ref& result) {
  PyObject *children = nullptr, *labels = nullptr, *rebuild = nullptr;
  int are_fields = 0;
  if (!PyArg_ParseTuple(parts, "O!O!pO", &PyList_Type, &children, &PyList_Type, &labels,
                        &are_fields, &rebuild)) {
    return Arrived::kError;
  }
  Ref items = Ref::steal(PyList_AsTuple(children));
  Ref names_of_items = Ref::steal(PyList_AsTuple(labels));
  Ref made = Ref::steal(items ? PyList_New(PyTuple_GET_SIZE(items.get())) : nullptr);
  if (!made || !names_of_items) return Arrived::kError;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* label = i < PyTuple_GET_SIZE(names_of_items.get())
                          ? PyTuple_GET_ITEM(names_of_items.get(), i)
                          : nullptr;
    Ref child;
    if (visit_child(PyTuple_GET_ITEM(items.get(), i), {label, i, are_fields != 0}, child) ==
        Arrived::kError) {
      return Arrived::kError;
    }
    PyList_SET_ITEM(made.get(), i, child.release());
  }
  result = Ref::steal(PyObject_CallOneArg(rebuild, made.get()));
  return result ? Arrived::kYes : Arrived::kError;
}

}  // namespace ashore::python
