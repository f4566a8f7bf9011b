// The module ashore._core: its functions and their docstrings.
#include "functions.hpp"

#include <ashore/threads.hpp>
#include <ashore/version.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include "host/cpu_features.hpp"

namespace {

constexpr char kToNumpyDoc[] =
    "to_numpy(x, *, copy=None, dtype=None, order='K', out=None)\n--\n\n"
    "Bring a tensor, an array, a number or a container of them ashore.\n\n"
    "Returns an ndarray, or the same container with ndarrays in it. Memory is shared whenever "
    "nothing has to change\n"
    "(`copy=None`), never (`True`), or always (`False`: ValueError where a copy is unavoidable). "
    "`dtype` is a NumPy\n"
    "dtype or an ml_dtypes name; `order` is 'K' (the source's own) or 'C'; `out` is an existing "
    "array to fill.\n"
    "Gradients are detached, conj and neg bits resolved, device tensors copied once and "
    "completely.";

constexpr char kToTorchDoc[] =
    "to_torch(x, *, device=None, dtype=None, copy=None, requires_grad=False)\n--\n\n"
    "Make a torch tensor of an array, a tensor, a number or a container of them.\n\n"
    "Memory is shared whenever nothing has to change; `copy=False` raises ValueError where a copy "
    "is unavoidable\n"
    "(read-only memory, negative strides, foreign byte order, another dtype or device). "
    "`requires_grad=True` gives\n"
    "a leaf. A tensor that needs no change is returned as it is.";

constexpr char kTensorsToNumpyDoc[] =
    "tensors_to_numpy(*tensors, copy=None, dtype=None)\n--\n\n"
    "Bring several tensors ashore; returns a tuple of ndarrays, in order.";

constexpr char kToImageDoc[] =
    "to_image(x, *, layout=None, value_range=None, channels='rgb')\n--\n\n"
    "Make a uint8 image (H, W, C), or a batch (N, H, W, C), of a CHW or HWC tensor or array, "
    "row-major, in one pass.\n\n"
    "Floats are scaled from `value_range` (default (0, 1)) to 0..255, rounded half to even and "
    "clamped; NaN becomes 0.\n"
    "uint8 is taken as it is, other integers need `value_range`. `channels='bgr'` is OpenCV's "
    "order.";

constexpr char kPlanEntriesDoc[] =
    "plan_entries(x, *, copy=None, dtype=None, order='K')\n--\n\n"
    "Return the rows of `ashore.plan`: one tuple for each array of `x`.";

PyCFunction as_function(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef g_functions[] = {
    {"to_numpy", as_function(ashore::python::to_numpy), METH_FASTCALL | METH_KEYWORDS, kToNumpyDoc},
    {"to_torch", as_function(ashore::python::to_torch), METH_FASTCALL | METH_KEYWORDS, kToTorchDoc},
    {"tensors_to_numpy", as_function(ashore::python::tensors_to_numpy),
     METH_FASTCALL | METH_KEYWORDS, kTensorsToNumpyDoc},
    {"to_image", as_function(ashore::python::to_image), METH_FASTCALL | METH_KEYWORDS, kToImageDoc},
    {"plan_entries", as_function(ashore::python::plan_entries), METH_FASTCALL | METH_KEYWORDS,
     kPlanEntriesDoc},
    {nullptr, nullptr, 0, nullptr}};

void set_num_threads(int count) {
  const ashore::Status status = ashore::set_num_threads(count);
  if (!status.ok()) throw nanobind::value_error(status.message().c_str());
}

}  // namespace

NB_MODULE(_core, module) {
  nanobind::set_leak_warnings(false);
  module.doc() = "The native core of ashore.";
  module.def("version", &ashore::version, "Return the version of the core.");
  const ashore::Status& simd = ashore::host::simd_status();
  if (!simd.ok()) throw nanobind::value_error(simd.message().c_str());
  module.def(
      "simd_level", [] { return name(ashore::host::simd_level()); },
      "Return the level of vector instructions in use: baseline, avx2 or avx512. The environment "
      "variable\n"
      "ASHORE_SIMD forces one.");
  module.def("get_num_threads", &ashore::num_threads,
             "Return how many threads one conversion uses at most, the calling one included.");
  module.def("set_num_threads", &set_num_threads, nanobind::arg("count"),
             "Use at most `count` threads for each conversion from now on, the calling one "
             "included.\n\n"
             "At first it is the number of CPUs that the process may use (affinity, control "
             "groups), at most 16, and at\n"
             "most OMP_NUM_THREADS where that is set.");
  module.def("set_leak_warnings", &nanobind::set_leak_warnings, nanobind::arg("on"),
             "Say at exit which of the module's own objects are left; for tests.");
  if (!ashore::python::make_names() || PyModule_AddFunctions(module.ptr(), g_functions) < 0) {
    throw nanobind::python_error();
  }
}
