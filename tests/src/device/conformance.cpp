// Finds the drivers to test.
#include "src/device/conformance.hpp"

#include <dlfcn.h>

namespace ashore::device {
namespace {

DriverUnderTest open_real_driver() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {nullptr, "no CUDA driver on this machine (libcuda.so.1)"};
  static DriverTable table;
  auto* const entries = reinterpret_cast<void**>(&table);
  for (int i = 0; i < kDriverFunctionCount; ++i) {
    if (void* const entry = ::dlsym(library, kDriverFunctions[i].symbol)) {
      entries[i] = entry;
    } else if (kDriverFunctions[i].required) {
      return {nullptr, std::string("the CUDA driver has no ") + kDriverFunctions[i].symbol};
    }
  }
  const Error error = table.init(0);
  if (error == Error::kSuccess) return {&table, ""};
  return {nullptr, "cuInit of the CUDA driver returns " + std::to_string(static_cast<int>(error))};
}

}  // namespace

DriverUnderTest find_driver(const std::string& name) {
  if (name == "simulated") return {&driver(), ""};
  static const DriverUnderTest real = open_real_driver();
  return real;
}

void Conformance::SetUp() {
  const DriverUnderTest found = find_driver(GetParam());
  if (found.table == nullptr) GTEST_SKIP() << found.reason;
  table_ = found.table;
  ASSERT_OK(cuda().init(0));
  Device device = -1;
  ASSERT_OK(cuda().device_get(&device, 0));
  ASSERT_OK(cuda().device_primary_ctx_retain(&context_, device));
  ASSERT_OK(cuda().ctx_set_current(context_));
}

void Conformance::TearDown() {
  if (table_ == nullptr) return;
  EXPECT_OK(cuda().ctx_synchronize());
  for (const EventHandle event : events_) EXPECT_OK(cuda().event_destroy(event));
  for (const StreamHandle stream : streams_) EXPECT_OK(cuda().stream_destroy(stream));
  for (void* const memory : pinned_) EXPECT_OK(cuda().mem_free_host(memory));
  for (const DevicePointer block : blocks_) EXPECT_OK(cuda().mem_free(block));
  EXPECT_OK(cuda().ctx_set_current(nullptr));
  EXPECT_OK(cuda().device_primary_ctx_release(0));
}

DevicePointer Conformance::device_block(std::size_t bytes) {
  DevicePointer pointer = 0;
  EXPECT_OK(cuda().mem_alloc(&pointer, bytes));
  blocks_.push_back(pointer);
  return pointer;
}

unsigned char* Conformance::pinned(std::size_t bytes, unsigned char value) {
  void* pointer = nullptr;
  EXPECT_OK(cuda().mem_host_alloc(&pointer, bytes, kHostAllocPortable));
  pinned_.push_back(pointer);
  std::memset(pointer, value, bytes);
  return static_cast<unsigned char*>(pointer);
}

StreamHandle Conformance::stream(unsigned flags) {
  StreamHandle handle = nullptr;
  EXPECT_OK(cuda().stream_create(&handle, flags));
  streams_.push_back(handle);
  return handle;
}

EventHandle Conformance::event(unsigned flags) {
  EventHandle handle = nullptr;
  EXPECT_OK(cuda().event_create(&handle, flags));
  events_.push_back(handle);
  return handle;
}

}  // namespace ashore::device
