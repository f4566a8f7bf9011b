// The simulator's own table: setting up, wrong handles, faults, statistics, several devices.
#include "src/device/simulator.hpp"

namespace ashore::device {
namespace {

using Machine = SimulatorTest;

TEST(Setup, BeforeInitNothingWorks) {
  const Simulator& sim = simulator();
  Device device = 0;
  if (sim.count_calls("cuInit") > 0) GTEST_SKIP() << "another test of this process came first";
  int version = 0;
  EXPECT_EQ(sim.driver->device_get(&device, 0), Error::kNotInitialized);
  EXPECT_EQ(sim.driver->ctx_synchronize(), Error::kNotInitialized);
  EXPECT_OK(sim.driver->driver_get_version(&version));
  EXPECT_EQ(version, 13000);
  EXPECT_OK(sim.driver->init(0));
  EXPECT_OK(sim.driver->device_get(&device, 0));
}

TEST(Setup, TheTableHasAVersion) {
  EXPECT_EQ(simulator().version, kSimulatorVersion);
  EXPECT_EQ(simulator().size_bytes, sizeof(Simulator));
}

TEST(Setup, IsDoneOnce) {
  SimulatorOptions options = test_options();
  EXPECT_EQ(simulator().configure(options), nullptr) << "the same options are fine";
  options.memory_bytes += 512;
  const char* const problem = simulator().configure(options);
  ASSERT_NE(problem, nullptr);
  EXPECT_NE(std::string(problem).find("configured already"), std::string::npos);
  EXPECT_EQ(simulator().options().memory_bytes, test_options().memory_bytes);
}

TEST_F(Machine, AddressesTellTheDevice) {
  const AddressSpace space = simulator().address_space();
  EXPECT_EQ(space.device_count, test_options().device_count);
  EXPECT_EQ(space.host_offset == 0, !test_options().protect_device);
  for (Device device = 0; device < space.device_count; ++device) {
    ContextHandle context = nullptr;
    ASSERT_OK(driver().device_primary_ctx_retain(&context, device));
    ASSERT_OK(driver().ctx_set_current(context));
    const DeviceBlock block(1000);
    EXPECT_EQ((block - space.device_base) / space.span_bytes, static_cast<std::size_t>(device));
    Device found = -1;
    EXPECT_OK(driver().pointer_get_attribute(&found, PointerAttribute::kDeviceOrdinal, block));
    EXPECT_EQ(found, device);
  }
  for (Device device = 0; device < space.device_count; ++device) {
    if (device > 0) {
      EXPECT_OK(driver().device_primary_ctx_release(device));
    }
  }
  ContextHandle context = nullptr;
  ASSERT_OK(driver().device_primary_ctx_retain(&context, 0));
  ASSERT_OK(driver().ctx_set_current(context));
  ASSERT_OK(driver().device_primary_ctx_release(0));
  ASSERT_OK(driver().device_primary_ctx_release(0));
}

TEST_F(Machine, WrongHandles) {
  const DriverTable& d = driver();
  StreamHandle stream = nullptr;
  EventHandle event = nullptr;
  ASSERT_OK(d.stream_create(&stream, 0));
  ASSERT_OK(d.event_create(&event, 0));
  ASSERT_OK(d.stream_destroy(stream));
  ASSERT_OK(d.event_destroy(event));
  const TestStream good;
  for (const StreamHandle wrong : {stream, reinterpret_cast<StreamHandle>(event),
                                   reinterpret_cast<StreamHandle>(std::uintptr_t{0x1234})}) {
    EXPECT_EQ(d.stream_query(wrong), Error::kInvalidHandle);
    EXPECT_EQ(d.stream_synchronize(wrong), Error::kInvalidHandle);
    EXPECT_EQ(d.stream_destroy(wrong), Error::kInvalidHandle);
    EXPECT_EQ(d.memset_d8_async(1, 1, 1, wrong), Error::kInvalidHandle);
  }
  for (const EventHandle wrong : {event, reinterpret_cast<EventHandle>(stream), EventHandle{}}) {
    EXPECT_EQ(d.event_query(wrong), Error::kInvalidHandle);
    EXPECT_EQ(d.event_record(wrong, good), Error::kInvalidHandle);
    EXPECT_EQ(d.stream_wait_event(good, wrong, 0), Error::kInvalidHandle);
    EXPECT_EQ(d.event_synchronize(wrong), Error::kInvalidHandle);
    EXPECT_EQ(d.event_destroy(wrong), Error::kInvalidHandle);
  }
  EXPECT_EQ(d.stream_destroy(kDefaultStream), Error::kInvalidHandle);
  EXPECT_EQ(d.ctx_set_current(reinterpret_cast<ContextHandle>(stream)), Error::kInvalidContext);
}

TEST_F(Machine, ReleasedContexts) {
  const Device last = test_options().device_count - 1;
  if (last == 0) GTEST_SKIP() << "one device, whose context this test needs";
  EXPECT_EQ(driver().device_primary_ctx_release(last), Error::kInvalidContext);
  ContextHandle context = nullptr;
  ASSERT_OK(driver().device_primary_ctx_retain(&context, last));
  ASSERT_OK(driver().device_primary_ctx_release(last));
  EXPECT_EQ(driver().ctx_set_current(context), Error::kInvalidContext);
  EXPECT_EQ(driver().device_primary_ctx_release(last), Error::kInvalidContext);
}

TEST_F(Machine, CopiesOutsideOfBlocksAreRefused) {
  const DeviceBlock block(1000, 1);
  unsigned char host[2000] = {};
  const Error wrong = Error::kInvalidValue;
  EXPECT_EQ(driver().memcpy_htod_async(block, host, 1001, kDefaultStream), wrong);
  EXPECT_EQ(driver().memcpy_htod_async(block + 1000, host, 1, kDefaultStream), wrong);
  EXPECT_EQ(driver().memcpy_dtoh_async(host, block + 999, 2, kDefaultStream), wrong);
  EXPECT_EQ(driver().memset_d8_async(block + 1, 0, 1000, kDefaultStream), wrong);
  const auto number = reinterpret_cast<DevicePointer>(host);
  EXPECT_EQ(driver().memcpy_htod_async(number, host, 1, kDefaultStream), wrong);
  EXPECT_EQ(driver().memcpy_dtoh_async(host, number, 1, kDefaultStream), wrong);
  EXPECT_EQ(driver().memcpy_dtod_async(block, number, 1, kDefaultStream), wrong);
  EXPECT_EQ(driver().memcpy_async(number, 0, 1, kDefaultStream), wrong);
  EXPECT_OK(driver().memcpy_dtoh_async(host, block, 1000, kDefaultStream));
  EXPECT_EQ(host[999], 1);
}

TEST_F(Machine, FaultsByFunctionAndCall) {
  const Simulator& sim = simulator();
  DevicePointer pointer = 0;
  ASSERT_TRUE(sim.inject_fault("cuMemAlloc", 2, 2, Error::kOutOfMemory));
  ASSERT_TRUE(sim.inject_fault("cuMemAlloc_v2", 4, 1, Error::kUnknown));
  const Error wanted[] = {Error::kSuccess, Error::kOutOfMemory, Error::kOutOfMemory,
                          Error::kUnknown, Error::kSuccess};
  for (const Error want : wanted) {
    EXPECT_EQ(driver().mem_alloc(&pointer, 16), want);
    if (want == Error::kSuccess) {
      EXPECT_OK(driver().mem_free(pointer));
    }
  }
  ASSERT_TRUE(sim.inject_fault("cuCtxSynchronize", 1, 100, Error::kIllegalAddress));
  EXPECT_EQ(driver().ctx_synchronize(), Error::kIllegalAddress);
  sim.clear_faults();
  EXPECT_OK(driver().ctx_synchronize());
  EXPECT_FALSE(sim.inject_fault("cuNoSuchThing", 1, 1, Error::kUnknown));
  EXPECT_FALSE(sim.inject_fault(nullptr, 1, 1, Error::kUnknown));
}

TEST_F(Machine, ABrokenDeviceFailsEveryCallThatNeedsIt) {
  const Simulator& sim = simulator();
  sim.break_device(Error::kAssert);
  sim.break_device(Error::kAssert);
  EXPECT_NE(*sim.pending, 0);
  DriverTable table = driver();
  int failed = 0;
#define ASHORE_DRIVER_FUNCTION(member, name, symbol, introduced, required, parameters) \
  failed += [&]<typename... A>(Error (*call)(A...)) {                                  \
    return call(A{}...) == Error::kAssert ? 1 : 0;                                     \
  }(table.member);
#include "device/driver_functions.inc"
#undef ASHORE_DRIVER_FUNCTION
  EXPECT_EQ(failed, kDriverFunctionCount - 4);  // init, version, an error's name and text
  const char* text = nullptr;
  EXPECT_OK(driver().get_error_string(Error::kAssert, &text));
  EXPECT_STREQ(text, "device-side assert triggered");
  sim.clear_faults();
  EXPECT_EQ(*sim.pending, 0);
  EXPECT_OK(driver().ctx_synchronize());
}

TEST_F(Machine, EveryFunctionCanFail) {
  for (const DriverFunction& function : kDriverFunctions) {
    ASSERT_TRUE(simulator().inject_fault(function.name, 1, 1, Error::kEccUncorrectable));
  }
  DriverTable table = driver();
  int failed = 0;
#define ASHORE_DRIVER_FUNCTION(member, name, symbol, introduced, required, parameters) \
  failed += [&]<typename... A>(Error (*call)(A...)) {                                  \
    return call(A{}...) == Error::kEccUncorrectable ? 1 : 0;                           \
  }(table.member);
#include "device/driver_functions.inc"
#undef ASHORE_DRIVER_FUNCTION
  EXPECT_EQ(failed, kDriverFunctionCount);
}

TEST_F(Machine, CallsAndBytesAreCounted) {
  const Simulator& sim = simulator();
  sim.reset_statistics();
  {
    const DeviceBlock block(1000);
    const DeviceBlock other(3000);
    const Pinned host(5000);
    const TestStream s;
    unsigned char local[10] = {};
    ASSERT_OK(driver().memcpy_htod_async(block, host.data(), 100, s));
    ASSERT_OK(driver().memcpy_htod_async(block, local, 10, s));
    ASSERT_OK(driver().memcpy_dtod_async(other, block, 50, s));
    ASSERT_OK(driver().memcpy_dtoh_async(host.data(), block, 70, s));
    ASSERT_OK(driver().stream_synchronize(s));
    ASSERT_OK(driver().ctx_synchronize());
  }
  const SimulatorStatistics statistics = sim.statistics();
  EXPECT_EQ(statistics.host_to_device_copies, 2);
  EXPECT_EQ(statistics.host_to_device_bytes, 110);
  EXPECT_EQ(statistics.device_to_device_copies, 1);
  EXPECT_EQ(statistics.device_to_device_bytes, 50);
  EXPECT_EQ(statistics.device_to_host_copies, 1);
  EXPECT_EQ(statistics.device_to_host_bytes, 70);
  EXPECT_EQ(statistics.synchronizations, 2);
  EXPECT_EQ(statistics.allocations, 2);
  EXPECT_EQ(statistics.pinned_bytes, 0);
  EXPECT_EQ(statistics.peak_pinned_bytes, 5000);
  EXPECT_EQ(statistics.allocated_bytes[0], 0);
  EXPECT_EQ(statistics.peak_allocated_bytes[0], 1024 + 3072);
  EXPECT_EQ(sim.count_calls("cuMemcpyHtoDAsync"), 2);
  EXPECT_EQ(sim.count_calls("cuMemcpyHtoDAsync_v2"), 2);
  EXPECT_EQ(sim.count_calls("cuNoSuchThing"), -1);
}

TEST(Table, MissingFunctionsAreErrors) {
  const DriverTable table;
  EXPECT_EQ(table.init(0), Error::kNotSupported);
  EXPECT_EQ(table.memset_d8_async(1, 2, 3, nullptr), Error::kNotSupported);
  EXPECT_EQ(find_driver_function("cuMemAlloc"), driver_function::mem_alloc);
  EXPECT_EQ(find_driver_function("cuMemAlloc_v2"), driver_function::mem_alloc);
  EXPECT_EQ(find_driver_function("mem_alloc"), -1);
}

}  // namespace
}  // namespace ashore::device
