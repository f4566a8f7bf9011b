// What the tests of the simulated driver share: the library, opened once by its full path, and
// handles that clean up after themselves.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "device/simulator_api.hpp"

#if defined(__SANITIZE_THREAD__)
#define ASHORE_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ASHORE_TEST_TSAN 1
#endif
#endif
#ifndef ASHORE_TEST_TSAN
#define ASHORE_TEST_TSAN 0
#endif

namespace ashore::device {

/// How this test program sets the simulator up: it can be done once per process (setup_*.cpp).
SimulatorOptions test_options();
/// The library's table, before it is set up.
const Simulator& unconfigured_simulator();
/// The same, set up with test_options().
const Simulator& simulator();
inline const DriverTable& driver() { return *simulator().driver; }

#define EXPECT_OK(call) EXPECT_EQ((call), ::ashore::device::Error::kSuccess)
#define ASSERT_OK(call) ASSERT_EQ((call), ::ashore::device::Error::kSuccess)

inline void PrintTo(Error error, std::ostream* out) { *out << static_cast<int>(error); }

/// Where the bytes of device memory are.
inline unsigned char* bytes_of(DevicePointer pointer) {
  const auto offset = static_cast<std::uintptr_t>(simulator().address_space().host_offset);
  return reinterpret_cast<unsigned char*>(pointer + offset);
}

class DeviceBlock {
 public:
  explicit DeviceBlock(std::size_t bytes, unsigned char value = 0) {
    EXPECT_OK(driver().mem_alloc(&pointer_, bytes));
    std::memset(bytes_of(pointer_), value, bytes);
  }
  ~DeviceBlock() { EXPECT_OK(driver().mem_free(pointer_)); }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  operator DevicePointer() const { return pointer_; }
  unsigned char* data() const { return bytes_of(pointer_); }
  unsigned char& operator[](std::size_t i) const { return data()[i]; }

 private:
  DevicePointer pointer_ = 0;
};

class Pinned {
 public:
  explicit Pinned(std::size_t bytes, unsigned char value = 0) {
    void* pointer = nullptr;
    EXPECT_OK(driver().mem_host_alloc(&pointer, bytes, 0));
    data_ = static_cast<unsigned char*>(pointer);
    std::memset(data_, value, bytes);
  }
  ~Pinned() {
    if (data_ != nullptr) {
      EXPECT_OK(driver().mem_free_host(data_));
    }
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  unsigned char* data() const { return data_; }
  unsigned char& operator[](std::size_t i) const { return data_[i]; }
  unsigned char* release() { return std::exchange(data_, nullptr); }

 private:
  unsigned char* data_ = nullptr;
};

class TestStream {
 public:
  explicit TestStream(unsigned flags = kStreamNonBlocking) {
    EXPECT_OK(driver().stream_create(&handle_, flags));
  }
  ~TestStream() { EXPECT_OK(driver().stream_destroy(handle_)); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  operator StreamHandle() const { return handle_; }

 private:
  StreamHandle handle_ = nullptr;
};

class TestEvent {
 public:
  explicit TestEvent(unsigned flags = kEventDisableTiming) {
    EXPECT_OK(driver().event_create(&handle_, flags));
  }
  ~TestEvent() { EXPECT_OK(driver().event_destroy(handle_)); }
  TestEvent(const TestEvent&) = delete;
  TestEvent& operator=(const TestEvent&) = delete;
  operator EventHandle() const { return handle_; }

 private:
  EventHandle handle_ = nullptr;
};

/// Device 0's context is current, and every misuse is kept.
class SimulatorTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(driver().init(0));
    ContextHandle context = nullptr;
    ASSERT_OK(driver().device_primary_ctx_retain(&context, 0));
    ASSERT_OK(driver().ctx_set_current(context));
    simulator().set_misuse_hook(&keep, this);
    simulator().set_origin(0);
  }
  void TearDown() override {
    EXPECT_OK(driver().ctx_synchronize());
    EXPECT_EQ(simulator().pending->load(), 0);
    EXPECT_EQ(report_count_, 0) << "nobody looked at a report of kind "
                                << static_cast<int>(reports_[0].kind) << " and origin "
                                << reports_[0].origin;
    simulator().set_misuse_hook(nullptr, nullptr);
    simulator().clear_faults();
    EXPECT_OK(driver().device_primary_ctx_release(0));
  }
  std::vector<MisuseReport> take_reports() {
    return {reports_.begin(), reports_.begin() + std::exchange(report_count_, 0)};
  }

 private:
  // Also called in signal handlers: without memory of its own.
  static void keep(const MisuseReport& report, void* self) {
    auto& test = *static_cast<SimulatorTest*>(self);
    if (test.report_count_ < static_cast<std::ptrdiff_t>(test.reports_.size())) {
      test.reports_[static_cast<std::size_t>(test.report_count_++)] = report;
    }
  }
  std::array<MisuseReport, 64> reports_ = {};
  std::ptrdiff_t report_count_ = 0;
};

}  // namespace ashore::device
