// The extension module _ashore_cuda. ashore.emulate loads it right after torch._C and calls
// `install`.
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include "emulator.hpp"
#include "misuse.hpp"
#include "origins.hpp"
#include "parts.hpp"
#include "simulator.hpp"

namespace ashore::emulator::surface {
namespace {

const device::Simulator* g_simulator = nullptr;

void install(PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"module", "simulator_path", nullptr};
  PyObject* module = nullptr;
  const char* simulator_path = nullptr;
  parse(args, kwargs, "Os", kNames, &module, &simulator_path);
  open_simulator(simulator_path);
  name_failing_lines();
  for (const auto part :
       {&install_devices, &install_properties, &install_streams, &install_events, &install_memory,
        &install_pools, &install_graphs, &install_tensor_types, &install_runtime, &install_switches,
        &install_tunable, &install_comm, &install_backward}) {
    part(module);
  }
}

// What the simulated driver counted since the start, as a dict.
Object statistics() {
  Object result(PyDict_New());
  if (simulator() == nullptr) return result;
  const device::SimulatorStatistics counts = simulator()->statistics();
  set_item(result, "host_to_device_copies", counts.host_to_device_copies);
  set_item(result, "host_to_device_bytes", counts.host_to_device_bytes);
  set_item(result, "device_to_host_copies", counts.device_to_host_copies);
  set_item(result, "device_to_host_bytes", counts.device_to_host_bytes);
  set_item(result, "device_to_device_copies", counts.device_to_device_copies);
  set_item(result, "device_to_device_bytes", counts.device_to_device_bytes);
  set_item(result, "synchronizations", counts.synchronizations);
  set_item(result, "peak_pinned_bytes", counts.peak_pinned_bytes);
  return result;
}

void stop() {
  const GilRelease released;
  stop_autograd();
}

PyObject* make_module() {
  static PyMethodDef functions[] = {
      function<&install>("install"),
      function<&statistics>("statistics"),
      function<&watch_lines>("watch_lines"),
      function<&list_waits>("list_waits"),
      function<&report_misuse>("report_misuse"),
      function<&stop>("stop_autograd"),
      {},
  };
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT};
  definition.m_name = "_ashore_cuda";
  definition.m_doc = "What PyTorch's CUDA build has in torch._C, for the emulated device.";
  definition.m_size = -1;
  definition.m_methods = functions;
  return PyModule_Create(&definition);
}

}  // namespace

void open_simulator(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  using Entry = const device::Simulator* (*)(std::uint32_t);
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "ashore_simulator"));
  if (entry != nullptr) g_simulator = entry(device::kSimulatorVersion);
}

const device::Simulator* simulator() { return g_simulator; }

}  // namespace ashore::emulator::surface

PyMODINIT_FUNC PyInit__ashore_cuda() { return ashore::emulator::surface::make_module(); }
