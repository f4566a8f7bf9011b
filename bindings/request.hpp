// What a call of to_numpy or to_torch asked for, and how its arguments are read.
#pragma once

#include "numpy_bridge.hpp"
#include "python.hpp"
#include "torch_bridge.hpp"

#include <ashore/plan.hpp>

#include <span>

namespace ashore::python {

/// One keyword that a function takes, and where its value goes (borrowed; stays null if not given).
struct Keyword {
  PyObject* name;
  PyObject** value;
};

/// Sort the arguments of a fastcall: `positional` of them at most, the rest by keyword. Returns
/// false with TypeError set.
bool read_arguments(const char* function, PyObject* const* arguments, Py_ssize_t count,
                    PyObject* keyword_names, std::span<PyObject**> positional,
                    std::span<const Keyword> keywords);

/// Read `copy=`: None, True or False. Returns false with ValueError set.
bool read_copy(PyObject* given, Copy& copy);
/// Read `order=`: "K" or "C". Returns false with ValueError set.
bool read_order(PyObject* given, Order& order);

/// The request of a to_numpy call.
struct NumpyRequest {
  Options options;
  Ref opaque_dtype;         ///< a dtype= that the core does not know, for arrays of that very dtype
  PyObject* out = nullptr;  ///< borrowed

  bool never_copies() const { return options.copy == Copy::kNever; }
  /// Say whether a share is always the answer for an array that can be shared.
  bool changes_nothing() const {
    return options.copy != Copy::kAlways && options.order == Order::kKeep && !options.dtype &&
           !opaque_dtype && out == nullptr;
  }
};

/// Read `dtype=` for to_numpy into the request. Returns false with an error set.
bool read_numpy_dtype(PyObject* given, NumpyRequest& request);

/// The request of a to_torch call.
struct TorchRequest {
  Options options;
  const Torch* torch = nullptr;
  Ref device;           ///< a torch.device, or nothing
  bool is_host = true;  ///< no device, or the host
  bool requires_grad = false;

  bool never_copies() const { return options.copy == Copy::kNever; }
  /// Say whether a share is always the answer for an array that PyTorch can hold.
  bool changes_nothing() const {
    return options.copy != Copy::kAlways && !options.dtype && is_host && !requires_grad;
  }
};

}  // namespace ashore::python
