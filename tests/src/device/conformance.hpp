// What the conformance tests share. They are written against DriverTable alone and run on every
// driver: the simulated one, and CUDA's where there is one.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "device/driver_table.hpp"
#include "src/device/simulator.hpp"

namespace ashore::device {

/// A driver by name, as the test's parameter. Null table: `reason` says why it is not there.
struct DriverUnderTest {
  const DriverTable* table = nullptr;
  std::string reason;
};
DriverUnderTest find_driver(const std::string& name);

/// Has the primary context of device 0 current in this thread.
class Conformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;
  void TearDown() override;

  const DriverTable& cuda() const { return *table_; }

  // Owned by the test: freed in TearDown.
  DevicePointer device_block(std::size_t bytes);
  unsigned char* pinned(std::size_t bytes, unsigned char value = 0);
  StreamHandle stream(unsigned flags = kStreamNonBlocking);
  EventHandle event(unsigned flags = kEventDisableTiming);

  ContextHandle context_ = nullptr;

 private:
  const DriverTable* table_ = nullptr;
  std::vector<DevicePointer> blocks_;
  std::vector<void*> pinned_;
  std::vector<StreamHandle> streams_;
  std::vector<EventHandle> events_;
};

#define ASHORE_ON_ALL_DRIVERS(suite)                                             \
  INSTANTIATE_TEST_SUITE_P(Drivers, suite, testing::Values("simulated", "real"), \
                           [](const auto& one) { return one.param; })

}  // namespace ashore::device
