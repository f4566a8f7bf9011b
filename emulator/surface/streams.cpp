// torch._C._CudaStreamBase, a subclass of torch.Stream, and the functions about the current stream.
// Source of names, checks and words: torch/csrc/cuda/Stream.cpp and Module.cpp of PyTorch.
#include "streams.hpp"

#include <c10/core/Stream.h>
#include <torch/csrc/Stream.h>

#include "parts.hpp"

namespace ashore::emulator::surface {
namespace {

constexpr auto kCudaType = static_cast<std::int64_t>(c10::DeviceType::CUDA);
// The range that PyTorch supports: four priorities, of which 0 is the lowest.
constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -3;

void check_index(std::int64_t device) {
  TORCH_CHECK(device >= 0 && device < device_count(), "Device index value ", device,
              " is out of index range [0, ", device_count(), ")");
}

// A device index as torch.cuda gives it; -1 is the current device.
int device_argument(PyObject* argument, const char* complaint) {
  const std::int64_t device = to_int(argument, complaint);
  if (device == -1) return current_device();
  check_index(device);
  return static_cast<int>(device);
}

StreamId unpack(std::int64_t id, std::int64_t device, std::int64_t device_type) {
  const c10::Stream stream_ = c10::Stream::unpack3(id, static_cast<c10::DeviceIndex>(device),
                                                   static_cast<c10::DeviceType>(device_type));
  TORCH_CHECK(stream_.device_type() == c10::DeviceType::CUDA);
  check_index(device);
  return {id, static_cast<int>(device)};
}

Object pack(StreamId stream) {
  return tuple(stream.id, static_cast<std::int64_t>(stream.device), kCudaType);
}

Object make_stream(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"priority",    "stream_id",  "device_index",
                                       "device_type", "stream_ptr", nullptr};
  int priority = 0;
  long long id = 0;
  long long device = 0;
  long long device_type = 0;
  unsigned long long native = 0;
  parse(args, kwargs, "|iLLLK", kNames, &priority, &id, &device, &device_type, &native);
  StreamId stream;
  if (native != 0) {
    TORCH_CHECK(priority == 0, "Priority was explicitly set for a external stream");
    stream = stream_of_native(native, current_device());
  } else if (id != 0 || device != 0 || device_type != 0) {
    stream = unpack(id, device, device_type);
  } else {
    TORCH_CHECK(priority <= kLeastPriority,
                "Expected cuda stream priority to be less than or equal to 0, got ", priority);
    stream = pool_stream(current_device(), std::max(priority, kGreatestPriority));
  }
  Object object(type->tp_alloc(type, 0));
  auto* self = reinterpret_cast<THPStream*>(object.get());
  self->stream_id = stream.id;
  self->device_index = stream.device;
  self->device_type = kCudaType;
  return object;
}

std::uint64_t native_handle(PyObject* self) { return native_stream(stream_of(self)); }
int priority_of(PyObject* self) { return stream_priority(stream_of(self)); }
Object priority_range(PyObject*) { return tuple(kLeastPriority, kGreatestPriority); }

PyTypeObject* stream_type() {
  static PyGetSetDef getters[] = {
      property<&native_handle>("cuda_stream"), property<&priority_of>("priority"), {}};
  static PyMethodDef methods[] = {[] {
                                    PyMethodDef range = method<&priority_range>("priority_range");
                                    range.ml_flags |= METH_STATIC;
                                    return range;
                                  }(),
                                  {}};
  static PyTypeObject type = [] {
    PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = "torch._C._CudaStreamBase";
    made.tp_basicsize = sizeof(THPStream);
    made.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    made.tp_methods = methods;
    made.tp_getset = getters;
    made.tp_base = THPStreamClass;
    made.tp_new = [](PyTypeObject* type, PyObject* args, PyObject* kwargs) {
      return guarded([&] { return make_stream(type, args, kwargs).release(); });
    };
    return made;
  }();
  return &type;
}

Object get_current(PyObject* argument) {
  return pack(current_stream(device_argument(argument, "invalid argument to getCurrentStream")));
}
Object get_default(PyObject* argument) {
  return pack(default_stream(device_argument(argument, "invalid argument to getDefaultStream")));
}
std::uint64_t get_current_raw(PyObject* argument) {
  return native_stream(
      current_stream(device_argument(argument, "invalid argument to getCurrentStream")));
}

Object get_external(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"data_ptr", "device_index", nullptr};
  unsigned long long native = 0;
  PyObject* device = nullptr;
  parse(args, kwargs, "KO", kNames, &native, &device);
  return pack(stream_of_native(
      native, device_argument(device, "invalid device_index in getStreamFromExternal")));
}

void set_stream(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"stream_id", "device_index", "device_type", nullptr};
  long long id = 0;
  long long device = 0;
  long long device_type = 0;
  parse(args, kwargs, "|LLL", kNames, &id, &device, &device_type);
  set_current_stream(unpack(id, device, device_type));
}

}  // namespace

StreamId stream_of(PyObject* object) {
  TORCH_CHECK_TYPE(THPStream_Check(object), "expected torch.cuda.Stream or torch.Stream, but got ",
                   Py_TYPE(object)->tp_name);
  const auto* stream = reinterpret_cast<const THPStream*>(object);
  return unpack(stream->stream_id, stream->device_index, stream->device_type);
}

c10::Stream to_c10(StreamId stream) {
  return c10::Stream(
      c10::Stream::UNSAFE,
      c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(stream.device)), stream.id);
}

void install_streams(PyObject* module) {
  static PyMethodDef functions[] = {
      function<&get_current>("_cuda_getCurrentStream"),
      function<&get_current_raw>("_cuda_getCurrentRawStream"),
      function<&get_default>("_cuda_getDefaultStream"),
      function<&get_external>("_cuda_getStreamFromExternal"),
      function<&set_stream>("_cuda_setStream"),
      {},
  };
  add_functions(module, functions);
  add_type(module, "_CudaStreamBase", stream_type());
}

}  // namespace ashore::emulator::surface
