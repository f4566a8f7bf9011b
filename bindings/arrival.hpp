// Arrival: one array as it came in from Python, ready for the plan. Made by arrive(), used by every
// conversion.
#pragma once

#include "numpy_bridge.hpp"
#include "python.hpp"
#include "torch_bridge.hpp"

#include <ashore/plan.hpp>

namespace ashore::python {

/// What holds the memory, and so how a share of it is made.
enum class Origin : std::uint8_t {
  kTensor,   ///< a torch tensor: shared through its storage, which gets locked
  kNdarray,  ///< an ndarray: shared as it is
  kForeign,  ///< a DLPack producer: shared through the capsule that owns its struct
};

/// One array from outside. `facts.view.layout` points into `layout`, so it stays where it was made.
struct Arrival {
  Arrival() = default;
  Arrival(const Arrival&) = delete;
  Arrival& operator=(const Arrival&) = delete;

  SourceFacts facts;
  Layout layout;
  Origin origin = Origin::kNdarray;
  Ref object;  ///< the tensor, the ndarray or the capsule
  bool fetched =
      false;  ///< its framework has already copied it from a device (kForeign device objects)
  bool plain = false;  ///< a tensor that was read without any code of others running since
  bool fresh = false;  ///< new memory that nobody else holds: a share of it is as good as a copy
  std::optional<DType>
      default_dtype;    ///< what the result has if no dtype is asked for; else the source's
  bool opaque = false;  ///< an ndarray whose dtype the core does not know (text, dates, records)
};

/// How asking an object for its array ended.
enum class Arrived : std::uint8_t {
  kYes,
  kNoArray,  ///< it is none; no error is set
  kError,    ///< a Python error is set
};

/// Ask any object for its array: torch, NumPy and NumPy's scalars, then the protocols in the order
/// of contract N8. `never_copy` is handed to producers that take it. Python's own numbers and
/// containers are no arrays here.
Arrived arrive(PyObject* object, bool never_copy, Arrival& arrival);

/// The parts of arrive(), by origin.
Arrived arrive_tensor(const Torch& torch, PyObject* tensor, Arrival& arrival);
Arrived arrive_ndarray(PyObject* array, Arrival& arrival);
Arrived arrive_protocol(PyObject* object, bool never_copy, Arrival& arrival);
Arrived arrive_dlpack(PyObject* object, PyObject* method, bool never_copy, Arrival& arrival);

/// Bring an object ashore whose memory is on a device that PyTorch does not own (CuPy, JAX on a
/// GPU, …): the loaded framework that owns it copies. `where` names the device for the refusal.
Arrived arrive_device_object(PyObject* object, const std::string& where, bool never_copy,
                             Arrival& arrival);

/// Say whether a tensor's memory is still where it arrived; RuntimeError is set where it is not.
///
/// Asked last before the memory is read or shared, where code of others may have run meanwhile:
/// that of a subclass or mode, or a finalizer, may have freed or replaced the tensor's storage.
bool is_where_it_was(const Arrival& arrival);

/// Read numbers that are data themselves (contract N6, N7): a Python number, or an exact list or
/// tuple of numbers, nested and rectangular. With `torch`, Python floats get torch's default dtype.
Arrived arrive_numbers(PyObject* object, const Torch* torch, Arrival& arrival);

/// Bring a device tensor to the host with its framework's own copy; `host` is what arrived.
bool fetch(const Arrival& device, Arrival& host);

/// Set TypeError for an object that is no array.
std::nullptr_t raise_no_array(PyObject* object);

}  // namespace ashore::python
