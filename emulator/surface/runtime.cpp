// torch._C._cudart, _nvtx and _cudnn: the modules with which PyTorch offers NVIDIA's libraries to
// Python. Source of names: torch/csrc/cuda/shared/*.cpp of PyTorch.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/util/Exception.h>

#include "emulator.hpp"
#include "parts.hpp"
#include "simulator.hpp"

namespace ashore::emulator::surface {
namespace {

using device::Error;

// What NVTX returns where no profiler listens.
constexpr int kNoTracking = -2;

PyObject* g_error_type = nullptr;

Object cuda_error(Error error) {
  return Object(PyObject_CallFunction(g_error_type, "i", static_cast<int>(error)));
}

const char* error_string(PyObject* argument) {
  const std::int64_t code = to_int(argument, "expected cudaError");
  const char* text = nullptr;
  if (simulator() != nullptr &&
      simulator()->driver->get_error_string(static_cast<Error>(code), &text) == Error::kSuccess) {
    return text;
  }
  return code == 0 ? "no error" : "unrecognized error code";
}

Object succeed() { return cuda_error(Error::kSuccess); }

// Call the driver without the interpreter's lock.
template <typename Call>
Object call_driver(Call call) {
  const device::Simulator* below = simulator();
  if (below == nullptr) return cuda_error(Error::kNotSupported);
  const Error error = [&] {
    const GilRelease released;
    return call(*below->driver);
  }();
  return cuda_error(error);
}

Object host_register(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"ptr", "size", "flags", nullptr};
  unsigned long long address = 0;
  unsigned long long size = 0;
  unsigned flags = 0;
  parse(args, kwargs, "KKI", kNames, &address, &size, &flags);
  return call_driver([&](const device::DriverTable& driver) {
    return driver.mem_host_register(reinterpret_cast<void*>(address), size, flags);
  });
}

Object host_unregister(PyObject* argument) {
  void* address = PyLong_AsVoidPtr(argument);
  if (address == nullptr && PyErr_Occurred()) throw PythonErrorSet();
  return call_driver(
      [&](const device::DriverTable& driver) { return driver.mem_host_unregister(address); });
}

// The argument is where the stream's handle is to be written, as in C.
Object create_stream(PyObject* argument) {
  void* address = PyLong_AsVoidPtr(argument);
  if (address == nullptr && PyErr_Occurred()) throw PythonErrorSet();
  if (address == nullptr) return cuda_error(Error::kInvalidValue);
  return call_driver([&](const device::DriverTable& driver) {
    return driver.stream_create(static_cast<device::StreamHandle*>(address), 0);
  });
}

Object destroy_stream(PyObject* argument) {
  const unsigned long long handle = PyLong_AsUnsignedLongLong(argument);
  if (PyErr_Occurred()) throw PythonErrorSet();
  return call_driver([&](const device::DriverTable& driver) {
    return driver.stream_destroy(reinterpret_cast<device::StreamHandle>(handle));
  });
}

Object get_memory_info(PyObject* argument) {
  const auto device = static_cast<int>(to_int(argument, "expected the index of a device"));
  const auto [free_bytes, total_bytes] = [device] {
    const GilRelease released;
    return memory_info(device);
  }();
  return tuple(free_bytes, total_bytes);
}

int push_range(PyObject*) { return kNoTracking; }
int pop_range() { return kNoTracking; }
std::int64_t start_range(PyObject*) { return 0; }
void ignore(PyObject*) {}
Object start_device_range(PyObject*, PyObject*) { return none(); }
void end_device_range(PyObject*, PyObject*) {}

int cudnn_version_int() { return static_cast<int>(at::detail::getCUDAHooks().versionCuDNN()); }
Object cudnn_version() {
  const int version = cudnn_version_int();
  return tuple(version / 10000, version / 100 % 100, version % 100);
}

}  // namespace

void install_runtime(PyObject* module) {
  const Object cudart = add_submodule(module, "_cudart", "libcudart.so bindings");
  Object error_type = make_enum("torch._C._cudart", "cudaError", {{"success", 0}});
  g_error_type = Py_NewRef(error_type.get());
  set_attribute(cudart.get(), "cudaError", std::move(error_type));
  static PyMethodDef runtime_functions[] = {
      function<&error_string>("cudaGetErrorString"),
      function<&succeed>("cudaProfilerStart"),
      function<&succeed, 1>("cudaProfilerStop"),
      function<&host_register>("cudaHostRegister"),
      function<&host_unregister>("cudaHostUnregister"),
      function<&create_stream>("cudaStreamCreate"),
      function<&destroy_stream>("cudaStreamDestroy"),
      function<&get_memory_info>("cudaMemGetInfo"),
      {},
  };
  add_functions(cudart.get(), runtime_functions);

  const Object nvtx = add_submodule(module, "_nvtx", "libNvToolsExt.so bindings");
  static PyMethodDef nvtx_functions[] = {
      function<&push_range>("rangePushA"),
      function<&pop_range>("rangePop"),
      function<&start_range>("rangeStartA"),
      function<&ignore>("rangeEnd"),
      function<&ignore, 1>("markA"),
      function<&start_device_range>("deviceRangeStart"),
      function<&end_device_range>("deviceRangeEnd"),
      {},
  };
  add_functions(nvtx.get(), nvtx_functions);

  const Object cudnn = add_submodule(module, "_cudnn", "libcudnn.so bindings");
  set_attribute(cudnn.get(), "is_cuda", true);
  set_attribute(cudnn.get(), "RNNMode",
                make_enum("torch._C._cudnn", "RNNMode",
                          {{"rnn_relu", 0}, {"rnn_tanh", 1}, {"lstm", 2}, {"gru", 3}}));
  static PyMethodDef cudnn_functions[] = {
      function<&cudnn_version>("getRuntimeVersion"),
      function<&cudnn_version, 1>("getCompileVersion"),
      function<&cudnn_version_int>("getVersionInt"),
      {},
  };
  add_functions(cudnn.get(), cudnn_functions);
}

}  // namespace ashore::emulator::surface
