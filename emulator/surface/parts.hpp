// The parts of the Python surface: each adds its names to torch._C. Called by module.cpp, in this
// order.
#pragma once

#include "python.hpp"

namespace ashore::emulator::surface {

void install_devices(PyObject* module);
void install_properties(PyObject* module);
void install_streams(PyObject* module);
void install_events(PyObject* module);
void install_memory(PyObject* module);
void install_pools(PyObject* module);
void install_graphs(PyObject* module);
void install_tensor_types(PyObject* module);
void install_runtime(PyObject* module);
void install_switches(PyObject* module);
void install_tunable(PyObject* module);
void install_comm(PyObject* module);
void install_backward(PyObject* module);

/// The properties object of one device: what torch.cuda.get_device_properties returns.
Object device_properties(PyObject* device);

}  // namespace ashore::emulator::surface
