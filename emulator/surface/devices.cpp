// Devices: which there are, which is current, their initialisation by torch.cuda, and forks.
// Source of names, checks and words: torch/csrc/cuda/Module.cpp of PyTorch.
#include <ATen/Context.h>
#include <pthread.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/device_lazy_init.h>

#include <mutex>

#include "emulator.hpp"
#include "parts.hpp"

namespace ashore::emulator::surface {
namespace {

// As PyTorch does: from the first question for devices on, a forked child cannot use them any more.
void poison_fork() {
  static std::once_flag once;
  std::call_once(once, [] {
    torch::utils::register_fork_handler_for_device_init(c10::DeviceType::CUDA);
    pthread_atfork(nullptr, nullptr, [] { mark_forked(); });
  });
}

bool is_in_bad_fork() { return torch::utils::is_device_in_bad_fork(c10::DeviceType::CUDA); }

int count_devices() {
  poison_fork();
  return device_count();
}

void set_device(PyObject* argument) {
  const std::int64_t device = to_int(argument, "invalid argument to setDevice");
  lazy_init();
  set_current_device(static_cast<int>(device));
}

int exchange(PyObject* argument) {
  const std::int64_t device = to_int(argument, "invalid argument to exchangeDevice");
  if (device < 0) return -1;
  lazy_init();
  return exchange_device(static_cast<int>(device));
}

int get_device() {
  lazy_init();
  return current_device();
}

bool can_access_peer(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"device", "peer_device", nullptr};
  PyObject* first = nullptr;
  PyObject* second = nullptr;
  parse(args, kwargs, "OO", kNames, &first, &second);
  const std::int64_t device = to_int(first, "invalid argument to canDeviceAccessPeer");
  const std::int64_t peer = to_int(second, "invalid argument to canDeviceAccessPeer");
  lazy_init();
  const int count = device_count();
  TORCH_CHECK(device >= 0 && device < count, device, " is not a device");
  TORCH_CHECK(peer >= 0 && peer < count, peer, " is not a device");
  return device != peer;
}

bool has_primary_context(PyObject* argument) {
  const std::int64_t device = to_int(argument, "invalid argument to has_primary_context");
  TORCH_CHECK(device >= 0 && device < device_count(), "hasPrimaryContext expects a valid device ",
              "index, but got device_index=", device);
  return true;
}

void synchronize() {
  const GilRelease released;
  synchronize_device(current_device());
}

void sleep(PyObject* cycles) {
  // Kernels take no time here, this one neither.
  to_int(cycles, "torch.cuda._sleep(): expected 'int'");
}

void set_debug_mode(PyObject* argument) {
  TORCH_WARN_ONCE(
      "Synchronization debug mode is a prototype feature and does not yet detect all "
      "synchronizing operations");
  const std::int64_t mode = to_int(argument, "invalid argument to set_sync_debug_mode");
  TORCH_CHECK(mode >= 0 && mode <= 2, "invalid value of debug_mode, expected one of 0,1,2");
  set_sync_debug_mode(static_cast<int>(mode));
}

// Called by torch.cuda._lazy_init, once.
void initialize() {
  TORCH_INTERNAL_ASSERT(!is_in_bad_fork());
  TORCH_CHECK(device_count() > 0, "No CUDA GPUs are available");
  poison_fork();
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);

  const Object cuda(PyImport_ImportModule("torch.cuda"));
  set_attribute(cuda.get(), "has_magma", true);
  set_attribute(cuda.get(), "has_half", true);
  const int count = device_count();
  Object generators(PyTuple_New(count));
  for (int device = 0; device < count; ++device) {
    const at::Generator& generator = at::globalContext().defaultGenerator(
        c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device)));
    PyTuple_SET_ITEM(generators.get(), device,
                     Object(THPGenerator_initDefaultGenerator(generator)).release());
  }
  set_attribute(cuda.get(), "default_generators", std::move(generators));
  static PyMethodDef functions[] = {function<&device_properties>("_get_device_properties"), {}};
  add_functions(cuda.get(), functions);
}

const char* arch_flags() {
  poison_fork();
  return "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120";
}

int compiled_version() { return 13000; }
bool rocm_is_backward_pass() { return false; }
void ipc_collect() {}

}  // namespace

void install_devices(PyObject* module) {
  static PyMethodDef functions[] = {
      function<&initialize>("_cuda_init"),
      function<&count_devices>("_cuda_getDeviceCount"),
      function<&get_device>("_cuda_getDevice"),
      function<&set_device>("_cuda_setDevice"),
      function<&exchange>("_cuda_exchangeDevice"),
      function<&exchange, 1>("_cuda_maybeExchangeDevice"),
      function<&can_access_peer>("_cuda_canDeviceAccessPeer"),
      function<&has_primary_context>("_cuda_hasPrimaryContext"),
      function<&is_in_bad_fork>("_cuda_isInBadFork"),
      function<&synchronize>("_cuda_synchronize"),
      function<&sleep>("_cuda_sleep"),
      function<&set_debug_mode>("_cuda_set_sync_debug_mode"),
      function<&sync_debug_mode>("_cuda_get_sync_debug_mode"),
      function<&arch_flags>("_cuda_getArchFlags"),
      function<&compiled_version>("_cuda_getCompiledVersion"),
      function<&rocm_is_backward_pass>("_rocm_is_backward_pass"),
      function<&ipc_collect>("_cuda_ipc_collect"),
      {},
  };
  add_functions(module, functions);
  for (const char* name : {"_has_cuda", "has_cuda", "_has_cudnn", "has_cudnn", "_has_magma"}) {
    set_attribute(module, name, true);
  }
}

}  // namespace ashore::emulator::surface
