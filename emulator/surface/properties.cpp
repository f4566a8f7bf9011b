// torch._C._CudaDeviceProperties: a Hopper GPU with the name and the memory that were asked for.
#include <Python.h>

#include <c10/util/Exception.h>
#include <structmember.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

#include "emulator.hpp"
#include "parts.hpp"

namespace ashore::emulator::surface {
namespace {

struct Properties {
  PyObject_HEAD PyObject* name;
  PyObject* uuid;
  int device;
  int major, minor;
  int multi_processor_count, warp_size;
  int is_integrated, is_multi_gpu_board;
  int max_threads_per_multi_processor, max_threads_per_block, regs_per_multiprocessor;
  Py_ssize_t shared_memory_per_block, shared_memory_per_block_optin;
  Py_ssize_t shared_memory_per_multiprocessor;
  int L2_cache_size, clock_rate, memory_clock_rate, memory_bus_width;
  int pci_bus_id, pci_device_id, pci_domain_id;
};

Properties* properties_of(PyObject* self) { return reinterpret_cast<Properties*>(self); }

// Asked each time, because the memory of a device can be changed while the program runs.
std::int64_t total_memory(PyObject* self) {
  return device_info(properties_of(self)->device).total_memory_bytes;
}

Object represent(PyObject* self) {
  const Properties& p = *properties_of(self);
  return Object(PyUnicode_FromFormat(
      "_CudaDeviceProperties(name='%U', major=%d, minor=%d, total_memory=%lldMB, "
      "multi_processor_count=%d, uuid=%S, pci_bus_id=%d, pci_device_id=%d, pci_domain_id=%d, "
      "L2_cache_size=%dMB)",
      p.name, p.major, p.minor, static_cast<long long>(total_memory(self) / (1024 * 1024)),
      p.multi_processor_count, p.uuid, p.pci_bus_id, p.pci_device_id, p.pci_domain_id,
      p.L2_cache_size / (1024 * 1024)));
}

void deallocate(PyObject* self) {
  Py_CLEAR(properties_of(self)->name);
  Py_CLEAR(properties_of(self)->uuid);
  Py_TYPE(self)->tp_free(self);
}

#define ASHORE_MEMBER(name, type) \
  { #name, type, offsetof(Properties, name), READONLY, nullptr }

PyTypeObject* properties_type() {
  static PyMemberDef members[] = {
      ASHORE_MEMBER(name, T_OBJECT_EX),
      {"gcnArchName", T_OBJECT_EX, offsetof(Properties, name), READONLY, nullptr},
      ASHORE_MEMBER(uuid, T_OBJECT_EX),
      ASHORE_MEMBER(major, T_INT),
      ASHORE_MEMBER(minor, T_INT),
      ASHORE_MEMBER(multi_processor_count, T_INT),
      ASHORE_MEMBER(warp_size, T_INT),
      ASHORE_MEMBER(is_integrated, T_INT),
      ASHORE_MEMBER(is_multi_gpu_board, T_INT),
      ASHORE_MEMBER(max_threads_per_multi_processor, T_INT),
      ASHORE_MEMBER(max_threads_per_block, T_INT),
      ASHORE_MEMBER(regs_per_multiprocessor, T_INT),
      ASHORE_MEMBER(shared_memory_per_block, T_PYSSIZET),
      ASHORE_MEMBER(shared_memory_per_block_optin, T_PYSSIZET),
      ASHORE_MEMBER(shared_memory_per_multiprocessor, T_PYSSIZET),
      ASHORE_MEMBER(L2_cache_size, T_INT),
      ASHORE_MEMBER(clock_rate, T_INT),
      ASHORE_MEMBER(memory_clock_rate, T_INT),
      ASHORE_MEMBER(memory_bus_width, T_INT),
      ASHORE_MEMBER(pci_bus_id, T_INT),
      ASHORE_MEMBER(pci_device_id, T_INT),
      ASHORE_MEMBER(pci_domain_id, T_INT),
      {},
  };
  static PyGetSetDef getters[] = {property<&total_memory>("total_memory"), {}};
  static PyTypeObject type = [] {
    PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = "torch._C._CudaDeviceProperties";
    made.tp_basicsize = sizeof(Properties);
    made.tp_dealloc = &deallocate;
    made.tp_repr = [](PyObject* self) { return guarded([&] { return answer(&represent, self); }); };
    made.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    made.tp_members = members;
    made.tp_getset = getters;
    return made;
  }();
  return &type;
}

#undef ASHORE_MEMBER

// torch._C._CUuuid: 16 bytes, and the text that nvidia-smi would show.
struct Uuid {
  PyObject_HEAD std::array<std::uint8_t, 16> bytes;
};

const std::array<std::uint8_t, 16>& bytes_of(PyObject* self) {
  return reinterpret_cast<Uuid*>(self)->bytes;
}

Object uuid_bytes(PyObject* self) {
  Object list(PyList_New(16));
  for (Py_ssize_t i = 0; i < 16; ++i) {
    PyList_SET_ITEM(
        list.get(), i,
        to_python(static_cast<int>(bytes_of(self)[static_cast<std::size_t>(i)])).release());
  }
  return list;
}

std::string uuid_text(PyObject* self) {
  std::string text;
  for (std::size_t i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(bytes_of(self)[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

PyTypeObject* uuid_type() {
  static PyGetSetDef getters[] = {property<&uuid_bytes>("bytes"), {}};
  static PyTypeObject type = [] {
    PyTypeObject made = {PyVarObject_HEAD_INIT(nullptr, 0)};
    made.tp_name = "torch._C._CUuuid";
    made.tp_basicsize = sizeof(Uuid);
    made.tp_str = [](PyObject* self) { return guarded([&] { return answer(&uuid_text, self); }); };
    made.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    made.tp_getset = getters;
    return made;
  }();
  return &type;
}

Object make_uuid(int device) {
  Object object(uuid_type()->tp_alloc(uuid_type(), 0));
  // "ashore" and the number of the device, so that two devices can be told apart.
  const char name[] = "ashore";
  auto& bytes = reinterpret_cast<Uuid*>(object.get())->bytes;
  std::copy_n(name, 6, bytes.begin());
  bytes[15] = static_cast<std::uint8_t>(device);
  return object;
}

Object make_properties(int device) {
  const DeviceInfo info = device_info(device);
  Object object(properties_type()->tp_alloc(properties_type(), 0));
  Properties& p = *properties_of(object.get());
  p.name = to_python(info.name).release();
  p.uuid = make_uuid(device).release();
  p.device = device;
  p.major = 9;
  p.minor = 0;
  p.multi_processor_count = 132;
  p.warp_size = 32;
  p.max_threads_per_multi_processor = 2048;
  p.max_threads_per_block = 1024;
  p.regs_per_multiprocessor = 65536;
  p.shared_memory_per_block = 48 * 1024;
  p.shared_memory_per_block_optin = 227 * 1024;
  p.shared_memory_per_multiprocessor = 228 * 1024;
  p.L2_cache_size = 50 * 1024 * 1024;
  p.clock_rate = 1'980'000;
  p.memory_clock_rate = 2'619'000;
  p.memory_bus_width = 5120;
  p.pci_bus_id = device + 1;
  return object;
}

}  // namespace

Object device_properties(PyObject* argument) {
  // The same object for the same device, as in PyTorch.
  static auto& made = *new std::array<PyObject*, 256>{};
  const std::int64_t device = to_int(argument, "invalid argument to get_device_properties");
  TORCH_CHECK(device >= 0 && device < device_count(), "device=", device,
              ", num_gpus=", device_count());
  PyObject*& slot = made.at(static_cast<std::size_t>(device));
  if (slot == nullptr) slot = make_properties(static_cast<int>(device)).release();
  return Object::borrow(slot);
}

void install_properties(PyObject* module) {
  add_type(module, "_CudaDeviceProperties", properties_type());
  add_type(module, "_CUuuid", uuid_type());
}

}  // namespace ashore::emulator::surface
