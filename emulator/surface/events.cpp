// torch._C._CudaEventBase, a subclass of torch.Event.
// Source of names, checks and words: c10/cuda/CUDAEvent.h and torch/csrc/cuda/Event.cpp of PyTorch.
#include <c10/core/Event.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Event.h>

#include "emulator.hpp"
#include "parts.hpp"
#include "streams.hpp"

namespace ashore::emulator::surface {
namespace {

// sizeof(cudaIpcEventHandle_t)
constexpr Py_ssize_t kIpcHandleBytes = 64;
constexpr int kErrorNotSupported = 801;

c10::Event& event_of(PyObject* object) { return reinterpret_cast<THPEvent*>(object)->event; }
bool is_created(const c10::Event& event) { return event.eventId() != nullptr; }
// BACKEND_DEFAULT is PyTorch's flag of an event with timing.
bool has_timing(const c10::Event& event) { return event.flag() == c10::EventFlag::BACKEND_DEFAULT; }

Object make_event(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"enable_timing", "blocking", "interprocess", "external",
                                       nullptr};
  unsigned char timing = 0;
  unsigned char blocking = 0;
  unsigned char interprocess = 0;
  unsigned char external = 0;
  parse(args, kwargs, "|bbbb", kNames, &timing, &blocking, &interprocess, &external);
  c10::Event event(c10::DeviceType::CUDA,
                   timing != 0 ? c10::EventFlag::BACKEND_DEFAULT : c10::EventFlag::PYTORCH_DEFAULT);
  Object object(type->tp_alloc(type, 0));
  new (&event_of(object.get())) c10::Event(std::move(event));
  return object;
}

[[noreturn]] void refuse_sharing() {
  throw c10::AcceleratorError(
      {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, kErrorNotSupported,
      "CUDA error: operation not supported (ashore's emulated GPU shares no events between "
      "processes)");
}

void from_ipc_handle(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"device", "ipc_handle", nullptr};
  PyObject* device = nullptr;
  PyObject* handle = nullptr;
  parse(args, kwargs, "OO", kNames, &device, &handle);
  TORCH_CHECK_TYPE(PyBytes_Check(handle),
                   "from_ipc_handle(): argument 'ipc_handle' must be bytes, not ",
                   Py_TYPE(handle)->tp_name);
  const Py_ssize_t size = PyBytes_GET_SIZE(handle);
  TORCH_CHECK(size == kIpcHandleBytes, "cudaIpcEventHandle_t expects byte-like object of size ",
              kIpcHandleBytes, ", but got ", size);
  const Object made(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&THPDeviceType), device));
  const c10::Device parsed = reinterpret_cast<THPDevice*>(made.get())->device;
  TORCH_CHECK(parsed.is_cuda(), "Event can only be created on CUDA devices, but got device type ",
              parsed.type());
  refuse_sharing();
}

void record(PyObject* self, PyObject* argument) {
  const StreamId stream = stream_of(argument);
  c10::Event& event = event_of(self);
  if (is_created(event)) {
    TORCH_CHECK(event.device_index() == stream.device, "Event device ",
                static_cast<int>(event.device_index()),
                " does not match recording stream's device ", stream.device, ".");
  }
  const GilRelease released;
  event.record(to_c10(stream));
}

void wait(PyObject* self, PyObject* argument) {
  const StreamId stream = stream_of(argument);
  const GilRelease released;
  event_of(self).block(to_c10(stream));
}

bool query(PyObject* self) { return event_of(self).query(); }

void synchronize(PyObject* self) {
  const GilRelease released;
  event_of(self).synchronize();
}

double elapsed_time(PyObject* self, PyObject* argument) {
  TORCH_CHECK_TYPE(THPEvent_Check(argument), "expected torch.cuda.Event, but got ",
                   Py_TYPE(argument)->tp_name);
  const c10::Event& first = event_of(self);
  const c10::Event& second = event_of(argument);
  TORCH_CHECK_VALUE(has_timing(first) && has_timing(second),
                    "Both events must be created with argument 'enable_timing=True'.");
  TORCH_CHECK_VALUE(is_created(first) && is_created(second),
                    "Both events must be recorded before calculating elapsed time.");
  TORCH_CHECK(first.query() && second.query(),
              "Both events must be completed before calculating elapsed time.");
  return elapsed_ms(reinterpret_cast<std::int64_t>(first.eventId()),
                    reinterpret_cast<std::int64_t>(second.eventId()));
}

void ipc_handle(PyObject*) { refuse_sharing(); }

Object device_of(PyObject* self) {
  const c10::Event& event = event_of(self);
  return is_created(event) ? Object(THPDevice_New(event.device())) : none();
}
void* native_handle(PyObject* self) { return event_of(self).eventId(); }

PyTypeObject* event_type() {
  static PyGetSetDef getters[] = {property<&device_of>("device"),
                                  property<&native_handle>("cuda_event"),
                                  property<&native_handle>("event_id"),
                                  {}};
  static PyMethodDef methods[] = {
      [] {
        PyMethodDef maker = function<&from_ipc_handle>("from_ipc_handle");
        maker.ml_flags |= METH_CLASS;
        return maker;
      }(),
      method<&record>("record"),
      method<&wait>("wait"),
      method<&query>("query"),
      method<&elapsed_time>("elapsed_time"),
      method<&synchronize>("synchronize"),
      method<&ipc_handle>("ipc_handle"),
      {},
  };
  static PyTypeObject type = [] {
    PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = "torch._C._CudaEventBase";
    made.tp_basicsize = sizeof(THPEvent);
    made.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    made.tp_methods = methods;
    made.tp_getset = getters;
    made.tp_base = THPEventClass;
    made.tp_new = [](PyTypeObject* type, PyObject* args, PyObject* kwargs) {
      return guarded([&] { return make_event(type, args, kwargs).release(); });
    };
    return made;
  }();
  return &type;
}

}  // namespace

void install_events(PyObject* module) { add_type(module, "_CudaEventBase", event_type()); }

}  // namespace ashore::emulator::surface
